import { SchedulerConfigError } from './errors.js';
import { createPolicy } from './policies.js';
import type { SchedulingPolicy } from './policy.js';
import type { SchedulerOptions } from './scheduler.js';

/** Options with defaults filled in, checked. */
export interface ResolvedOptions {
  readonly maxNumBatchedTokens: number;
  readonly maxNumSeqs: number;
  readonly maxModelLen: number;
  /** Most tokens of one sequence in one step. */
  readonly maxChunk: number;
  readonly policy: SchedulingPolicy;
  readonly maxQueueSize: number;
  readonly clock: () => number;
}

/** @throws {SchedulerConfigError} naming the option, its value and what it may be. */
export function resolveOptions(options: SchedulerOptions): ResolvedOptions {
  const { maxNumBatchedTokens, maxNumSeqs, maxModelLen, longPrefillTokenThreshold = 0, policy = 'fcfs' } = options;
  requireCount('maxNumSeqs', maxNumSeqs, 1);
  requireCount('maxNumBatchedTokens', maxNumBatchedTokens, maxNumSeqs);
  requireCount('maxModelLen', maxModelLen, 1);
  requireCount('longPrefillTokenThreshold', longPrefillTokenThreshold, 0);
  if (options.maxQueueSize !== undefined) requireCount('maxQueueSize', options.maxQueueSize, 1);
  return {
    maxNumBatchedTokens,
    maxNumSeqs,
    maxModelLen,
    maxChunk: Math.min(maxNumBatchedTokens, longPrefillTokenThreshold || maxNumBatchedTokens),
    policy: typeof policy === 'string' ? createPolicy(policy) : policy,
    maxQueueSize: options.maxQueueSize ?? Number.POSITIVE_INFINITY,
    clock: options.clock ?? (() => performance.now()),
  };
}

/** @throws {SchedulerConfigError} unless `value` is an integer of at least `min`. */
export function requireCount(field: string, value: number, min: number): void {
  if (!Number.isSafeInteger(value) || value < min) {
    throw new SchedulerConfigError(field, value, `an integer of at least ${min}`);
  }
}
