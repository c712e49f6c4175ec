import { KvConfigError, requireInteger } from './errors.js';

/** A run of placeholder tokens whose KV comes from an image (or any other embedded medium). */
export interface ImageSpan {
  /** Position of the first placeholder token in the sequence. */
  readonly start: number;
  readonly length: number;
  /** Hash of the content (compared in full, so as long as the caller wants it). */
  readonly hash: string;
}

/**
 * What decides a token's KV besides the tokens before it. The fields are tagged and compared one by one on every hit;
 * no hash stands for them. Sequences that differ in `adapter` or `salt` share nothing; sequences that differ in an image
 * share what lies before it.
 */
export interface CacheKey {
  readonly adapter?: string;
  readonly salt?: string;
  /** In ascending order of start, not overlapping. */
  readonly images?: readonly ImageSpan[];
}

/** Injective text form of the fields that hold for a whole sequence. */
export function namespaceOf(key: CacheKey | undefined): string {
  if (key === undefined || (key.adapter === undefined && key.salt === undefined)) return '';
  return JSON.stringify([key.adapter ?? null, key.salt ?? null]);
}

/**
 * Injective text form of the spans that touch block `index`, relative to its start ('' when none does).
 * A block's place in the tree already fixes everything before it.
 */
export function blockTagOf(key: CacheKey | undefined, index: number, blockSize: number): string {
  const images = key?.images;
  if (images === undefined || images.length === 0) return '';
  const begin = index * blockSize;
  const touching: [number, number, string][] = [];
  for (const span of images) {
    if (span.start < begin + blockSize && span.start + span.length > begin) {
      touching.push([span.start - begin, span.length, span.hash]);
    }
  }
  return touching.length === 0 ? '' : JSON.stringify(touching);
}

/** @throws {KvConfigError} unless the spans are in ascending order, not empty and not overlapping. */
export function validateKey(key: CacheKey | undefined): void {
  let end = 0;
  for (const span of key?.images ?? []) {
    requireInteger('CacheKey.images[].start', span.start, 0, Number.MAX_SAFE_INTEGER);
    requireInteger('CacheKey.images[].length', span.length, 1, Number.MAX_SAFE_INTEGER);
    if (span.start < end) {
      throw new KvConfigError('CacheKey.images[].start', span.start, `at least ${end}, where the span before it ends`);
    }
    end = span.start + span.length;
  }
}
