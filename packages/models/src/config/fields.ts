import { ModelConfigError } from '../errors.js';

export interface IntegerRange {
  readonly min?: number;
  readonly max: number;
}

export interface NumberRange {
  /** Exclusive when `above` is given instead of `min`. */
  readonly min?: number;
  readonly above?: number;
  readonly max: number;
}

/** A way to look up raw values: a JSON object or a GGUF metadata section. `null` counts as absent. */
export interface FieldSource {
  /** For messages: `config.json` or `GGUF`. */
  readonly label: string;
  get(name: string): unknown;
}

/** Checked reads of configuration values; every failure is a {@link ModelConfigError} naming the field. */
export class Fields {
  constructor(
    private readonly source: FieldSource,
    private readonly prefix = '',
  ) {}

  static ofObject(label: string, value: unknown, prefix = ''): Fields {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new ModelConfigError(prefix === '' ? label : `${label}: ${prefix}`, value, 'a JSON object');
    }
    const object = value as Record<string, unknown>;
    return new Fields({ label, get: (name) => (Object.hasOwn(object, name) ? object[name] : undefined) }, prefix);
  }

  /** `config.json: rope_scaling.factor`. */
  nameOf(field: string): string {
    return `${this.source.label}: ${this.prefix}${field}`;
  }

  error(field: string, value: unknown, expected: string): ModelConfigError {
    return new ModelConfigError(this.nameOf(field), value, expected);
  }

  raw(field: string): unknown {
    const value = this.source.get(field);
    return value === null ? undefined : value;
  }

  has(field: string): boolean {
    return this.raw(field) !== undefined;
  }

  optionalInteger(field: string, range: IntegerRange): number | undefined {
    const value = this.raw(field);
    if (value === undefined) return undefined;
    const min = range.min ?? 1;
    const number = typeof value === 'bigint' ? Number(value) : value;
    if (typeof number !== 'number' || !Number.isSafeInteger(number) || number < min || number > range.max) {
      throw this.error(field, value, `an integer from ${min} to ${range.max}`);
    }
    return number;
  }

  integer(field: string, range: IntegerRange): number {
    const value = this.optionalInteger(field, range);
    if (value === undefined) throw this.error(field, undefined, `an integer from ${range.min ?? 1} to ${range.max}`);
    return value;
  }

  optionalNumber(field: string, range: NumberRange): number | undefined {
    const value = this.raw(field);
    if (value === undefined) return undefined;
    const low = range.above ?? range.min ?? 0;
    const isLow = (n: number): boolean => (range.above === undefined ? n < low : n <= low);
    if (typeof value !== 'number' || !Number.isFinite(value) || isLow(value) || value > range.max) {
      throw this.error(field, value, `a number ${range.above === undefined ? 'from' : 'above'} ${low} to ${range.max}`);
    }
    return value;
  }

  number(field: string, range: NumberRange): number {
    const value = this.optionalNumber(field, range);
    if (value === undefined) throw this.error(field, undefined, `a number up to ${range.max}`);
    return value;
  }

  boolean(field: string, otherwise: boolean): boolean {
    const value = this.raw(field);
    if (value === undefined) return otherwise;
    if (typeof value !== 'boolean') throw this.error(field, value, 'true or false');
    return value;
  }

  optionalString(field: string): string | undefined {
    const value = this.raw(field);
    if (value === undefined) return undefined;
    if (typeof value !== 'string') throw this.error(field, value, 'a string');
    return value;
  }

  /** Array or typed array of finite numbers within the range, of exactly `length` entries. */
  numbers(field: string, length: number, range: NumberRange): number[] {
    const value = this.raw(field);
    const isList = Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));
    const list = value as ArrayLike<unknown>;
    if (!isList || list.length !== length) throw this.error(field, value, `an array of ${length} numbers`);
    return Array.from({ length }, (_, i) =>
      new Fields({ label: this.source.label, get: () => list[i] }, `${this.prefix}${field}[${i}]`).number('', range),
    );
  }

  /** A nested object, undefined when absent. */
  object(field: string): Fields | undefined {
    const value = this.raw(field);
    if (value === undefined) return undefined;
    return Fields.ofObject(this.source.label, value, `${this.prefix}${field}.`);
  }
}
