import type { CacheKey } from '@dsi/kv-cache';

/** Why a request ended. Only `numerical_error` keeps what the request wrote out of the prefix cache. */
export type FinishReason = 'stop' | 'length' | 'abort' | 'timeout' | 'error' | 'numerical_error';

/** What the scheduler must know of a request; everything else about it stays with the engine. */
export interface SchedulerRequest {
  /** Unique among the live requests. */
  readonly id: string;
  /** At least one token id; copied. */
  readonly promptTokens: Int32Array | Uint32Array | readonly number[];
  /** Most tokens to generate, at least 1. Reaching it ends the request with `length`. */
  readonly maxTokens: number;
  /** Lower is served first under the `priority` policy; ignored by `fcfs`. Default 0. */
  readonly priority?: number;
  /** Milliseconds on the scheduler's clock. Default: now. */
  readonly arrival?: number;
  readonly cacheKey?: CacheKey;
  /** false: never take a prefix hit (prompt_logprobs needs every row computed). Default true. */
  readonly usePrefixCache?: boolean;
}

/** What a fork takes from its own request; the rest comes from the parent. */
export interface ForkRequest {
  readonly id: string;
  /** Generated tokens of the child: they follow the parent's PROMPT. Default: those of the parent. */
  readonly generated?: ArrayLike<number>;
  /** Default: the parent's. */
  readonly maxTokens?: number;
}

export type SequenceStatus = 'waiting' | 'running' | 'finished';

/** Read-only view of a live sequence. The object stays readable after its end; its counters then stand still. */
export interface SequenceView {
  readonly id: string;
  readonly status: SequenceStatus;
  readonly numPromptTokens: number;
  readonly maxTokens: number;
  readonly priority: number;
  readonly arrival: number;
  /** Prompt, then generated tokens. Backing array: only the first `numTokens` entries count. Replaced when it grows. */
  readonly tokens: Int32Array;
  readonly numTokens: number;
  readonly numGenerated: number;
  /** Tokens whose KV is in the cache. */
  readonly numComputed: number;
  /** Prompt tokens that came from the prefix cache at the first admission; -1 before it. */
  readonly numCachedTokens: number;
  readonly numPreemptions: number;
}
