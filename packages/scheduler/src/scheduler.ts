import type { KvCache, KvCacheStats } from '@dsi/kv-cache';
import type { SchedulingPolicy } from './policy.js';
import type { FinishReason, ForkRequest, SchedulerRequest, SequenceView } from './request.js';
import type { StepPlan, StepResult, UpdateResult } from './step-plan.js';

export interface SchedulerOptions {
  readonly kv: KvCache;
  /** Most tokens a step computes; at least `maxNumSeqs`, so that every running sequence can get one. */
  readonly maxNumBatchedTokens: number;
  readonly maxNumSeqs: number;
  /** Most tokens (prompt + generated) of a sequence. */
  readonly maxModelLen: number;
  /** Most prompt tokens of one sequence in one step; 0: no limit but the budget. Default 0. */
  readonly longPrefillTokenThreshold?: number;
  /** 'fcfs' (default) or 'priority', or any object of the contract. */
  readonly policy?: string | SchedulingPolicy;
  /** Most waiting requests (preempted ones count, but may always come back). At least 1. Default: no limit. */
  readonly maxQueueSize?: number;
  /** Milliseconds, never decreasing. Default: performance.now. */
  readonly clock?: () => number;
}

export interface SchedulerStats {
  readonly numRunning: number;
  readonly numWaiting: number;
  /** Since construction. */
  readonly numPreemptions: number;
  readonly numSteps: number;
  readonly kv: KvCacheStats;
}

/**
 * Decides before every step which sequences compute how many tokens in which blocks. Two verbs: `schedule` gives a plan,
 * `update` takes what came of it. One step is in flight at a time. Everything is synchronous.
 */
export interface Scheduler {
  /**
   * Puts a request into the waiting queue.
   * @throws {QueueFullError} when the queue is at its limit.
   * @throws {RequestTooLongError} if prompt + maxTokens exceed `maxModelLen`.
   * @throws {KvCapacityError} if prompt + maxTokens exceed the whole pool.
   * @throws {InvalidRequestError} for a duplicate id, an empty prompt, a value out of range.
   */
  add(request: SchedulerRequest): SequenceView;

  /**
   * A further sample of `parentId`: a request of its own that runs at once on the parent's blocks (copy-on-write). Where that
   * cannot be (no seat, the parent not running), it waits like any other and finds full blocks in the prefix cache. The queue
   * limit does not apply. With `generated: []` it samples its own first token, recomputing the prompt's last position.
   * @throws {UnknownRequestError} when the parent is not live; else as `add`.
   */
  fork(parentId: string, child: ForkRequest): SequenceView;

  /**
   * Plans the next step.
   * @param maxTokens most tokens of this step; default and upper bound: `maxNumBatchedTokens`. Never less than one for every
   * running sequence (nothing running: one), so a smaller value makes chunks shorter and admissions later, but every decode
   * goes on. A value of at least `maxNumSeqs` always leaves a token for an admission while a seat is free.
   * @throws {SchedulerStateError} while a step is in flight.
   * @throws {SchedulerConfigError} for a `maxTokens` that is not an integer of at least 1.
   */
  schedule(maxTokens?: number): StepPlan;

  /**
   * The step is complete: its tokens become part of the sequences, full blocks become matchable, ended requests return
   * their blocks. Nothing is changed when it throws.
   * @throws {SchedulerStateError} for another step's id, an output that was not planned or is out of order, tokens for
   * a request that wanted no logits or beyond its `maxTokens`.
   */
  update(result: StepResult): UpdateResult;

  /**
   * Ends a request with `reason`. Waiting or between steps: at once. While a step with it is in flight: its blocks come
   * back in that step's `update`, which reports it; no further step plans it.
   * @returns false if there is no such live request (it may just have ended).
   */
  finish(id: string, reason: FinishReason): boolean;
  /** `finish(id, 'abort')`. */
  abort(id: string): boolean;

  get(id: string): SequenceView | undefined;
  /** True while a request is waiting or running. */
  readonly hasWork: boolean;
  stats(): SchedulerStats;
  /** @throws {SchedulerIntegrityError | KvIntegrityError} if queues, sequences and cache disagree. O(everything). */
  checkIntegrity(): void;
}
