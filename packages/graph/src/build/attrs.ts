/** Attributes of {@link GraphBuilder.rope}. */
export interface RopeAttrs {
  /** `half`: element i pairs with i + n. `interleaved`: 2i with 2i + 1. n = length of the frequencies. */
  readonly style: 'half' | 'interleaved';
  /** First rotated element of a head. Default 0. */
  readonly offset?: number;
  /** Factor on cos and sin. Default 1. */
  readonly scale?: number;
}

/** Attributes of {@link GraphBuilder.attention}. */
export interface AttentionAttrs {
  /** Factor on q . k. */
  readonly scale: number;
  readonly kvHeads: number;
  /** Key j is visible to position i when i - j < window; 0 (default) = no window. */
  readonly window?: number;
}

/** Attributes of {@link GraphBuilder.moeRoute}. */
export interface MoeRouteAttrs {
  readonly scoring: 'softmax' | 'sigmoid';
  /** Experts a token. */
  readonly topK: number;
  /** Expert groups; 1 (default) = none. */
  readonly nGroup?: number;
  /** Groups that compete. Default: all. */
  readonly topkGroup?: number;
  /** A group's score: its best choice, or the sum of its two best. Default `max`. */
  readonly groupScore?: 'max' | 'top2sum';
  /** Divide the chosen weights by their sum. */
  readonly normalize: boolean;
  /** Factor on the weights. Default 1. */
  readonly scale?: number;
}
