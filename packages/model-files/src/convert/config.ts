import { MalformedFieldError } from '../errors.js';

/** Typed access to config.json; every failure names the key. */
export class ModelConfig {
  constructor(
    private readonly values: Readonly<Record<string, unknown>>,
    private readonly file: string,
  ) {}

  fail(key: string, value: unknown, expected: string): never {
    throw new MalformedFieldError(`${key} is ${JSON.stringify(value) ?? 'missing'}, expected ${expected}`, {
      file: this.file,
      field: key,
      value: JSON.stringify(value)?.slice(0, 80),
      limit: expected,
    });
  }

  has(key: string): boolean {
    return this.values[key] !== undefined && this.values[key] !== null;
  }

  optionalNumber(key: string): number | undefined {
    const value = this.values[key] ?? undefined;
    if (value === undefined) return undefined;
    return typeof value === 'number' && Number.isFinite(value) ? value : this.fail(key, value, 'a number');
  }

  number(key: string): number {
    return this.optionalNumber(key) ?? this.fail(key, undefined, 'a number');
  }

  /** A whole number from 1 to 2^31 - 1: sizes and counts. */
  size(key: string): number {
    const value = this.number(key);
    return Number.isInteger(value) && value > 0 && value < 2 ** 31
      ? value
      : this.fail(key, value, 'a whole number > 0');
  }

  optionalSize(key: string): number | undefined {
    return this.has(key) ? this.size(key) : undefined;
  }

  optionalString(key: string): string | undefined {
    const value = this.values[key] ?? undefined;
    if (value === undefined) return undefined;
    return typeof value === 'string' ? value : this.fail(key, value, 'a string');
  }

  flag(key: string, fallback: boolean): boolean {
    const value = this.values[key] ?? fallback;
    return typeof value === 'boolean' ? value : this.fail(key, value, 'true or false');
  }

  optionalNumbers(key: string): number[] | undefined {
    const value = this.values[key] ?? undefined;
    if (value === undefined) return undefined;
    if (!Array.isArray(value) || value.some((v) => typeof v !== 'number')) this.fail(key, value, 'a list of numbers');
    return value as number[];
  }

  /** A nested object; an empty one if it is absent. */
  section(key: string): ModelConfig {
    const value = this.values[key] ?? {};
    if (typeof value !== 'object' || Array.isArray(value)) this.fail(key, value, 'an object');
    return new ModelConfig(value as Record<string, unknown>, this.file);
  }

  /** Names of `layer_types` and similar lists. */
  optionalStrings(key: string): string[] | undefined {
    const value = this.values[key] ?? undefined;
    if (value === undefined) return undefined;
    if (!Array.isArray(value) || value.some((v) => typeof v !== 'string')) this.fail(key, value, 'a list of strings');
    return value as string[];
  }
}
