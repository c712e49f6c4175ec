import type { GgufArray, GgufField, GgufScalarType } from './value.js';

/** Constructors of typed metadata values for `writeGguf`. */
export const gguf = {
  uint32: (value: number): GgufField => ({ type: 'uint32', value }),
  int32: (value: number): GgufField => ({ type: 'int32', value }),
  uint64: (value: number | bigint): GgufField => ({ type: 'uint64', value }),
  float32: (value: number): GgufField => ({ type: 'float32', value }),
  bool: (value: boolean): GgufField => ({ type: 'bool', value }),
  string: (value: string): GgufField => ({ type: 'string', value }),
  /** Strings, booleans, or the numbers of a typed array. */
  array: (value: GgufArray): GgufField => ({ type: 'array', elementType: elementTypeOf(value), value }),
} as const;

const arrayTypes: readonly (readonly [GgufScalarType, new (length: number) => GgufArray])[] = [
  ['uint8', Uint8Array],
  ['int8', Int8Array],
  ['uint16', Uint16Array],
  ['int16', Int16Array],
  ['uint32', Uint32Array],
  ['int32', Int32Array],
  ['float32', Float32Array],
  ['float64', Float64Array],
  ['uint64', BigUint64Array],
  ['int64', BigInt64Array],
];

/** Element type that an array value is stored with; an empty plain array counts as strings. */
export function elementTypeOf(value: GgufArray): GgufScalarType | 'array' {
  for (const [type, arrayClass] of arrayTypes) if (value instanceof arrayClass) return type;
  const first = (value as readonly unknown[])[0];
  if (first === undefined || typeof first === 'string') return 'string';
  return typeof first === 'boolean' ? 'bool' : 'array';
}
