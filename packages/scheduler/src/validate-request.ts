import type { KvCache } from '@dsi/kv-cache';
import { InvalidRequestError, RequestTooLongError } from './errors.js';

export const MAX_TOKEN_ID = 0x7fffffff;

/** @throws {InvalidRequestError} unless every entry is an integer from 0 to 2^31 - 1. */
export function validateTokens(id: string, field: string, tokens: ArrayLike<number>): void {
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i]!;
    if (!(Number.isInteger(token) && token >= 0 && token <= MAX_TOKEN_ID)) {
      throw new InvalidRequestError(id, `${field}[${i}]`, token, `an integer from 0 to ${MAX_TOKEN_ID}`);
    }
  }
}

/** @throws {InvalidRequestError} unless `value` is an integer of at least `min`. */
export function validateCount(id: string, field: string, value: number, min: number): void {
  if (!Number.isSafeInteger(value) || value < min) {
    throw new InvalidRequestError(id, field, value, `an integer of at least ${min}`);
  }
}

/** @throws {InvalidRequestError} unless `value` is a finite number. */
export function validateFinite(id: string, field: string, value: number): void {
  if (!Number.isFinite(value)) throw new InvalidRequestError(id, field, value, 'a finite number');
}

/**
 * A sequence that could not run even alone is refused before it waits.
 * @throws {RequestTooLongError} against the context, {KvCapacityError} against the pool.
 */
export function requireAdmissible(
  kv: KvCache,
  id: string,
  promptTokens: number,
  maxTokens: number,
  maxModelLen: number,
  maxChunk: number,
): void {
  if (promptTokens + maxTokens > maxModelLen) throw new RequestTooLongError(id, promptTokens, maxTokens, maxModelLen);
  kv.requireFits(promptTokens + maxTokens, maxChunk);
}
