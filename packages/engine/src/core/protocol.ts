import type { WireError } from '../errors/wire.js';
import type { ResolvedSampling } from '../sampling/sampling-params.js';
import type { EngineInfo } from '../load/engine-info.js';
import type { LoadEvent } from '../load/load-event.js';

/** A request as it is posted to the core. */
export interface WireRequest {
  /** Unique among the live requests. */
  readonly id: string;
  readonly promptIds: Int32Array;
  readonly sampling: ResolvedSampling;
  /** Lower is served first under the `priority` policy. */
  readonly priority: number;
  /** Requests with different salts share no prefix. */
  readonly cacheSalt: string | undefined;
  /** Milliseconds since the epoch, with fractions. */
  readonly arrival: number;
  /** Give the raw logits of so many tokens, from the first on (an engine loaded with `captureLogits` only). */
  readonly captureLogits: number;
}

export type ToCore =
  | { readonly type: 'add'; readonly request: WireRequest }
  | { readonly type: 'abort'; readonly id: string }
  | {
      readonly type: 'query';
      readonly token: number;
      readonly what: 'check-integrity' | 'clear-prefix-cache' | 'stats';
    }
  /** Ends every request with `abort`, frees everything, and answers `closed`. */
  | { readonly type: 'close' };

/** Log-probability of a token and of the best others at its place, descending. */
export interface WireLogprobs {
  readonly id: number;
  readonly logprob: number;
  readonly topIds: readonly number[];
  readonly topLogprobs: readonly number[];
}

export type FinishReason = 'stop' | 'length' | 'abort';

export interface WireDelta {
  readonly kind: 'delta';
  readonly id: string;
  readonly choice: number;
  readonly tokenIds: readonly number[];
  /** Text that became final; may be empty while a code point or a stop string is incomplete. */
  readonly text: string;
  readonly completionTokens: number;
  readonly logprobs?: readonly WireLogprobs[];
  readonly finishReason?: FinishReason;
  /** The stop string or token id that ended the choice; absent for the end-of-sequence token and other reasons. */
  readonly stopReason?: string | number;
  /** Raw logits [V] of each token in `tokenIds`; absent beyond what was asked for. */
  readonly logits?: readonly Float32Array[];
}

/** Sent once, before the first delta. */
export interface WireStart {
  readonly kind: 'start';
  readonly id: string;
  readonly seed: bigint;
  readonly cachedTokens: number;
  /** One entry a prompt token; the first has none. */
  readonly promptLogprobs?: readonly (WireLogprobs | null)[];
}

export interface RequestMetrics {
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly completionTokens: number;
  readonly numChoices: number;
  readonly maxTokens: number;
  readonly numPreemptions: number;
  readonly finishReason: FinishReason | 'error';
  /** Milliseconds. Undefined where the request ended before. */
  readonly queueMs: number | undefined;
  readonly prefillMs: number | undefined;
  readonly decodeMs: number | undefined;
  readonly timeToFirstTokenMs: number | undefined;
  readonly endToEndMs: number;
}

export type RequestEvent =
  | WireStart
  | WireDelta
  /** Every choice has ended; nothing more follows for this id. */
  | { readonly kind: 'end'; readonly id: string; readonly metrics: RequestMetrics; readonly error?: WireError };

/** Counters since load, and gauges of now. */
export interface EngineStats {
  readonly running: number;
  readonly waiting: number;
  /** Share of the pool that sequences hold, 0 to 1. */
  readonly kvUsage: number;
  readonly kvTotalBlocks: number;
  readonly kvUsedBlocks: number;
  readonly kvCachedBlocks: number;
  /** Tokens asked of the prefix cache, and found. */
  readonly prefixQueryTokens: number;
  readonly prefixHitTokens: number;
  readonly preemptions: number;
  readonly steps: number;
  readonly promptTokens: number;
  readonly generationTokens: number;
  /** Tokens that the next step may compute. */
  readonly tokenBudget: number;
}

export interface StepMetrics {
  /** Tokens computed. */
  readonly tokens: number;
  readonly sequences: number;
  readonly ms: number;
  /** Milliseconds since the token before, for every token but a request's first. */
  readonly interTokenMs: readonly number[];
}

export type FromCore =
  | { readonly type: 'load'; readonly event: LoadEvent }
  | { readonly type: 'ready'; readonly info: EngineInfo }
  | { readonly type: 'load-failed'; readonly error: WireError }
  /** At most one a step, with everything that happened since the last. */
  | {
      readonly type: 'step';
      readonly events: readonly RequestEvent[];
      readonly stats: EngineStats;
      readonly step: StepMetrics | undefined;
    }
  | { readonly type: 'answer'; readonly token: number; readonly value: unknown; readonly error?: WireError }
  | { readonly type: 'closed' };
