import { TokenizerFormatError } from '../errors.js';
import { describe, MAX_VOCAB_SIZE } from '../json/access.js';

/** Key-value pairs of a GGUF file: numbers or bigints, strings, booleans, arrays (typed ones for numbers). */
export type GgufMetadata = ReadonlyMap<string, unknown> | Readonly<Record<string, unknown>>;

/** Typed access to the `tokenizer.*` keys. */
export class MetadataReader {
  constructor(private readonly metadata: GgufMetadata) {}

  get(key: string): unknown {
    if (this.metadata instanceof Map) return this.metadata.get(key);
    const record = this.metadata as Readonly<Record<string, unknown>>;
    return Object.hasOwn(record, key) ? record[key] : undefined;
  }

  string(key: string): string | undefined {
    const value = this.get(key);
    if (value === undefined || value === null) return undefined;
    if (typeof value === 'string') return value;
    throw new TokenizerFormatError(key, `expected a string, got ${describe(value)}`);
  }

  boolean(key: string, fallback: boolean): boolean {
    const value = this.get(key);
    if (value === undefined || value === null) return fallback;
    if (typeof value === 'boolean') return value;
    throw new TokenizerFormatError(key, `expected true or false, got ${describe(value)}`);
  }

  /** A token id inside a vocabulary of `size` ids; undefined when absent or, as some files have it, out of range. */
  tokenId(key: string, size: number): number | undefined {
    const value = this.get(key);
    if (value === undefined || value === null) return undefined;
    if (typeof value !== 'number' && typeof value !== 'bigint') {
      throw new TokenizerFormatError(key, `expected a token id, got ${describe(value)}`);
    }
    const id = Number(value);
    return Number.isInteger(id) && id >= 0 && id < size ? id : undefined;
  }

  strings(key: string): readonly string[] | undefined {
    const value = this.get(key);
    if (value === undefined || value === null) return undefined;
    if (!Array.isArray(value) || !value.every((item) => typeof item === 'string')) {
      throw new TokenizerFormatError(key, `expected an array of strings, got ${describe(value)}`);
    }
    if (value.length > MAX_VOCAB_SIZE) {
      throw new TokenizerFormatError(key, `has ${value.length} entries, above the limit of ${MAX_VOCAB_SIZE}`);
    }
    return value;
  }

  /** An array of numbers of the given length. */
  numbers(key: string, length: number): ArrayLike<number> | undefined {
    const value = this.get(key);
    if (value === undefined || value === null) return undefined;
    const isArray = Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));
    if (!isArray) throw new TokenizerFormatError(key, `expected an array of numbers, got ${describe(value)}`);
    const numbers = value as ArrayLike<number | bigint>;
    if (numbers.length !== length) {
      throw new TokenizerFormatError(key, `has ${numbers.length} entries, but there are ${length} tokens`);
    }
    return Array.from(numbers, Number);
  }
}
