import type { Transfer } from '@dsi/kv-cache';
import type { FinishReason } from './request.js';

/**
 * One sequence's share of a step: compute the tokens at positions [numComputed, numComputed + numTokens).
 * `tokens` and `blockTable` are backing arrays, read only, valid until the next call of the scheduler that changes state
 * (`update` included): copy what the launch needs before.
 */
export interface PlannedRequest {
  readonly id: string;
  readonly numTokens: number;
  /** Position of the first token to compute; what lies before it is in the cache. */
  readonly numComputed: number;
  /** tokens[p] is the token at position p, for p < numComputed + numTokens. */
  readonly tokens: Int32Array;
  /** Position p lives in block blockTable[floor(p / blockSize)], slot p % blockSize. Entry 0: left by a sliding window. */
  readonly blockTable: Int32Array;
  readonly numBlocks: number;
  /** The share reaches the sequence's last token: its logits give the next one. */
  readonly wantsLogits: boolean;
}

/** Plain data. A plan without requests starts no step: do not launch, do not call `update`. */
export interface StepPlan {
  /** Counts up from 1; the next `update` must name it. */
  readonly stepId: number;
  /** Decodes first, then prefill chunks; each group in rank order. */
  readonly requests: readonly PlannedRequest[];
  /** Sum of requests[].numTokens. */
  readonly numTokens: number;
  /** Requests put back into the waiting queue by this call; their blocks are gone. */
  readonly preempted: readonly string[];
  /** To be done before the forward pass. */
  readonly transfers: readonly Transfer[];
}

export interface StepOutput {
  readonly id: string;
  /**
   * Tokens accepted for the sequence, in order: none for a chunk without logits (or a request without sampling), one for
   * plain decoding, more when drafted tokens were verified. Tokens past a stop must be left out.
   */
  readonly tokens: ArrayLike<number>;
  /** The request ends with these tokens. */
  readonly finishReason?: FinishReason;
}

export interface StepResult {
  readonly stepId: number;
  /** In the plan's order. A planned request may be missing: it got no tokens. */
  readonly outputs: readonly StepOutput[];
}

export interface FinishedRequest {
  readonly id: string;
  readonly reason: FinishReason;
  readonly numPromptTokens: number;
  readonly numGenerated: number;
}

export interface UpdateResult {
  /** Requests that ended in this step: by the engine's word, by `maxTokens`, or aborted while the step ran. */
  readonly finished: readonly FinishedRequest[];
}
