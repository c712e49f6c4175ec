/** Element types of GGUF metadata by their number in the file. */
export const ggufTypeNames = [
  'uint8',
  'int8',
  'uint16',
  'int16',
  'uint32',
  'int32',
  'float32',
  'bool',
  'string',
  'array',
  'uint64',
  'int64',
  'float64',
] as const;

export type GgufTypeName = (typeof ggufTypeNames)[number];
export type GgufScalarType = Exclude<GgufTypeName, 'array'>;

/** Bytes of a fixed-size scalar; 0 for strings and arrays. */
export const ggufScalarBytes: Record<GgufTypeName, number> = {
  uint8: 1,
  int8: 1,
  uint16: 2,
  int16: 2,
  uint32: 4,
  int32: 4,
  float32: 4,
  bool: 1,
  string: 0,
  array: 0,
  uint64: 8,
  int64: 8,
  float64: 8,
};

export type GgufNumberArray =
  | Uint8Array
  | Int8Array
  | Uint16Array
  | Int16Array
  | Uint32Array
  | Int32Array
  | Float32Array
  | Float64Array
  | BigUint64Array
  | BigInt64Array;

export type GgufArray = GgufNumberArray | readonly string[] | readonly boolean[] | readonly GgufArray[];

/**
 * A metadata value. 64-bit integers are numbers when exact, else bigints; arrays of numbers are typed arrays of the
 * stored type.
 */
export type GgufValue = string | number | bigint | boolean | GgufArray;

/** A value with its stored type, as needed to write it again. */
export type GgufField =
  | { readonly type: GgufScalarType; readonly value: string | number | bigint | boolean }
  | { readonly type: 'array'; readonly elementType: GgufTypeName; readonly value: GgufArray };
