import { KvCapacityError as PoolCapacityError, type KvCache } from '@dsi/kv-cache';
import { QueueFullError as SchedulerQueueFullError } from '@dsi/scheduler';
import {
  ContextLengthError,
  InvalidParameterError,
  KvCapacityError,
  QueueFullError,
} from '../errors/request-errors.js';
import type { WireRequest } from './protocol.js';

export interface AdmissionLimits {
  readonly vocabSize: number;
  readonly maxModelLen: number;
  readonly maxNumBatchedTokens: number;
  readonly maxChoices: number;
  readonly captureLogits: boolean;
}

/**
 * Checks a request against the model and the pool, before anything is allocated for it.
 * @returns the new tokens it may generate: as asked, or else what context and pool leave.
 * @throws InvalidParameterError | ContextLengthError | KvCapacityError
 */
export function admit(request: WireRequest, limits: AdmissionLimits, kv: KvCache): number {
  const { promptIds, sampling } = request;
  const { maxModelLen, vocabSize } = limits;
  if (promptIds.length === 0) {
    throw new InvalidParameterError({ field: 'prompt', value: '', limit: 'at least one token' });
  }
  for (const id of promptIds) {
    if (id < 0 || id >= vocabSize) {
      throw new InvalidParameterError({ field: 'prompt', value: id, limit: `token ids from 0 to ${vocabSize - 1}` });
    }
  }
  if (sampling.n > limits.maxChoices) {
    throw new InvalidParameterError({ field: 'n', value: sampling.n, limit: `at most ${limits.maxChoices}` });
  }
  if (request.captureLogits > 0 && !limits.captureLogits) {
    const limit = '0, unless the engine was loaded with captureLogits';
    throw new InvalidParameterError({ field: 'captureLogits', value: request.captureLogits, limit });
  }
  const asked = sampling.maxTokens ?? Math.max(1, sampling.minTokens);
  if (promptIds.length + asked > maxModelLen) {
    throw new ContextLengthError({ promptTokens: promptIds.length, maxTokens: asked, maxModelLen });
  }
  requireFits(kv, promptIds.length + asked, limits.maxNumBatchedTokens);
  if (sampling.maxTokens !== undefined) return asked;
  const rest = maxModelLen - promptIds.length;
  return fits(kv, maxModelLen, limits.maxNumBatchedTokens)
    ? rest
    : Math.max(asked, Math.min(rest, kv.totalBlocks * kv.blockSize - promptIds.length));
}

/** The engine's own error for one that the scheduler or the cache threw at `add`; others as they are. */
export function admissionError(error: unknown): unknown {
  if (error instanceof PoolCapacityError) {
    return new KvCapacityError({ neededTokens: error.neededTokens, capacityTokens: error.capacityTokens });
  }
  if (error instanceof SchedulerQueueFullError) {
    return new QueueFullError({ waiting: error.queueSize, limit: error.limit });
  }
  return error;
}

function requireFits(kv: KvCache, totalTokens: number, maxChunk: number): void {
  try {
    kv.requireFits(totalTokens, maxChunk);
  } catch (error) {
    throw admissionError(error);
  }
}

function fits(kv: KvCache, totalTokens: number, maxChunk: number): boolean {
  try {
    kv.requireFits(totalTokens, maxChunk);
    return true;
  } catch {
    return false;
  }
}
