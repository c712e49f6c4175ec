import { TokenizerFormatError } from '../errors.js';

/** A JSON object of unknown content. */
export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** `value` as an object, or a {@link TokenizerFormatError} that names `path`. */
export function object(value: unknown, path: string): JsonObject {
  if (isObject(value)) return value;
  throw new TokenizerFormatError(path, `expected an object, got ${describe(value)}`);
}

export function array(value: unknown, path: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new TokenizerFormatError(path, `expected an array, got ${describe(value)}`);
}

export function string(value: unknown, path: string): string {
  if (typeof value === 'string') return value;
  throw new TokenizerFormatError(path, `expected a string, got ${describe(value)}`);
}

/** A number, or `fallback` when absent or null. */
export function number(value: unknown, path: string, fallback?: number): number {
  if (typeof value === 'number') return value;
  if ((value === undefined || value === null) && fallback !== undefined) return fallback;
  throw new TokenizerFormatError(path, `expected a number, got ${describe(value)}`);
}

/** A token id: an integer from 0 to 2^24. */
export function tokenId(value: unknown, path: string): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < MAX_VOCAB_SIZE) return value;
  throw new TokenizerFormatError(path, `expected a token id below ${MAX_VOCAB_SIZE}, got ${describe(value)}`);
}

/** Ids are below this: it bounds what a damaged file can make the tables allocate. */
export const MAX_VOCAB_SIZE = 1 << 22;

/** A boolean, or `fallback` when absent or null. */
export function boolean(value: unknown, path: string, fallback: boolean): boolean {
  if (typeof value === 'boolean') return value;
  if (value === undefined || value === null) return fallback;
  throw new TokenizerFormatError(path, `expected true or false, got ${describe(value)}`);
}

/** A string, or undefined when absent or null. */
export function optionalString(value: unknown, path: string): string | undefined {
  return value === undefined || value === null ? undefined : string(value, path);
}

export function describe(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === 'string') return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
  return typeof value === 'object' ? 'an object' : String(value);
}
