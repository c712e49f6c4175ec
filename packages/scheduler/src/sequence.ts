import type { CacheKey } from '@dsi/kv-cache';
import type { RankedSequence } from './policy.js';
import type { FinishReason, SequenceStatus } from './request.js';

export interface SequenceInit {
  readonly id: string;
  readonly ordinal: number;
  readonly promptTokens: ArrayLike<number>;
  readonly maxTokens: number;
  readonly priority: number;
  readonly arrival: number;
  readonly cacheKey: CacheKey | undefined;
  readonly usePrefixCache: boolean;
}

/** A request's tokens and counters. Everything else (decode or prefill, what is left, ...) derives from them. */
export class Sequence implements RankedSequence {
  readonly id: string;
  readonly ordinal: number;
  readonly numPromptTokens: number;
  readonly maxTokens: number;
  readonly priority: number;
  readonly arrival: number;
  readonly cacheKey: CacheKey | undefined;
  tokens: Int32Array;
  numTokens: number;
  numComputed = 0;
  numCachedTokens = -1;
  numPreemptions = 0;
  status: SequenceStatus = 'waiting';
  rank = 0;
  /** Tokens planned for the step in the making or in flight. */
  numScheduled = 0;
  /** The request was ended while its step was in flight. */
  pendingFinish: FinishReason | null = null;
  /** Step in whose planning it was preempted last: it does not come back in the same one. */
  preemptedAt = 0;
  /** Lowest position whose KV this sequence wrote, over all its lives. */
  writtenFrom = Number.POSITIVE_INFINITY;
  private readonly mayHit: boolean;

  constructor(init: SequenceInit) {
    this.id = init.id;
    this.ordinal = init.ordinal;
    this.numPromptTokens = init.promptTokens.length;
    this.maxTokens = init.maxTokens;
    this.priority = init.priority;
    this.arrival = init.arrival;
    this.cacheKey = init.cacheKey;
    this.mayHit = init.usePrefixCache;
    this.numTokens = this.numPromptTokens;
    this.tokens = new Int32Array(this.numPromptTokens + Math.min(init.maxTokens, 64));
    this.tokens.set(init.promptTokens);
  }

  get numGenerated(): number {
    return this.numTokens - this.numPromptTokens;
  }

  /** Tokens that still have to be computed before the next one can be sampled; 1 while decoding. */
  get numPending(): number {
    return this.numTokens - this.numComputed;
  }

  /** Once the prompt's rows have been delivered (a token followed), nothing asks for them again. */
  get usePrefixCache(): boolean {
    return this.mayHit || this.numTokens > this.numPromptTokens;
  }

  append(tokens: ArrayLike<number>): void {
    const length = this.numTokens + tokens.length;
    if (length > this.tokens.length) {
      const grown = new Int32Array(
        Math.max(length, Math.min(2 * this.tokens.length, this.numPromptTokens + this.maxTokens)),
      );
      grown.set(this.tokens);
      this.tokens = grown;
    }
    for (let i = 0; i < tokens.length; i++) this.tokens[this.numTokens + i] = tokens[i]!;
    this.numTokens = length;
  }
}
