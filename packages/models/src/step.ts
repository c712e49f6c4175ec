/** One sequence's place in the KV cache. Made by `SequenceRunner.open`; its fields change with every step. */
export interface Sequence {
  /** Tokens whose keys and values are in the cache. */
  readonly length: number;
  /** Block numbers, in order of position. */
  readonly blocks: readonly number[];
}

/** New tokens of one sequence in a step. */
export interface StepPart {
  readonly sequence: Sequence;
  readonly tokens: readonly number[];
  /** Programs with a `hidden` input (multi-token prediction): [tokens, D]. */
  readonly hidden?: Float32Array;
}

export interface StepResult {
  /** Of the last token [V], or of all new tokens [tokens, V]. */
  readonly logits: Float32Array;
  /** Programs with the output `hidden`: [tokens, D]. */
  readonly hidden?: Float32Array;
}
