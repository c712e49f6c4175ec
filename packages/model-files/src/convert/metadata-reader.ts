import { MalformedFieldError } from '../errors.js';
import type { GgufValue } from '../gguf/value.js';

/** Typed access to GGUF metadata under an architecture's prefix. */
export class MetadataReader {
  constructor(
    private readonly metadata: ReadonlyMap<string, GgufValue>,
    readonly arch: string,
    private readonly file: string,
  ) {}

  optionalNumber(key: string): number | undefined {
    const value = this.metadata.get(`${this.arch}.${key}`);
    return typeof value === 'number' ? value : undefined;
  }

  number(key: string): number {
    const value = this.optionalNumber(key);
    if (value === undefined)
      throw new MalformedFieldError(`metadata ${this.arch}.${key} is missing or no number`, {
        file: this.file,
        field: `${this.arch}.${key}`,
        limit: 'a number',
      });
    return value;
  }

  optionalString(key: string): string | undefined {
    const value = this.metadata.get(`${this.arch}.${key}`);
    return typeof value === 'string' ? value : undefined;
  }

  flag(key: string): boolean {
    return this.metadata.get(`${this.arch}.${key}`) === true;
  }

  token(kind: string): number | undefined {
    const value = this.metadata.get(`tokenizer.ggml.${kind}_token_id`);
    return typeof value === 'number' ? value : undefined;
  }
}
