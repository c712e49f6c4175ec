import { LimitExceededError, MalformedFieldError, UnknownTypeError } from '../errors.js';
import type { ByteCursor } from './byte-cursor.js';
import {
  ggufScalarBytes,
  ggufTypeNames,
  type GgufArray,
  type GgufField,
  type GgufScalarType,
  type GgufTypeName,
} from './value.js';

/** Arrays inside arrays: the format allows them, no model uses more than one level. */
const maxArrayDepth = 4;

function readType(cursor: ByteCursor, field: string): GgufTypeName {
  const id = cursor.u32(`type of ${field}`);
  const name = ggufTypeNames[id];
  if (name === undefined)
    throw new UnknownTypeError(`${field} has metadata type ${id}; known are 0 to ${ggufTypeNames.length - 1}`, {
      file: cursor.file,
      field,
      value: id,
      limit: ggufTypeNames.length - 1,
    });
  return name;
}

function exact(value: bigint): number | bigint {
  const n = Number(value);
  return Number.isSafeInteger(n) ? n : value;
}

function readBool(byte: number, cursor: ByteCursor, field: string): boolean {
  if (byte > 1)
    throw new MalformedFieldError(`${field} is a bool of value ${byte}, expected 0 or 1`, {
      file: cursor.file,
      field,
      value: byte,
      limit: '0 or 1',
    });
  return byte === 1;
}

function readScalar(cursor: ByteCursor, type: GgufScalarType, field: string): string | number | bigint | boolean {
  if (type === 'string') return cursor.string(field, cursor.fileSize);
  const view = cursor.dataView(ggufScalarBytes[type], field);
  switch (type) {
    case 'uint8':
      return view.getUint8(0);
    case 'int8':
      return view.getInt8(0);
    case 'uint16':
      return view.getUint16(0, true);
    case 'int16':
      return view.getInt16(0, true);
    case 'uint32':
      return view.getUint32(0, true);
    case 'int32':
      return view.getInt32(0, true);
    case 'float32':
      return view.getFloat32(0, true);
    case 'bool':
      return readBool(view.getUint8(0), cursor, field);
    case 'uint64':
      return exact(view.getBigUint64(0, true));
    case 'int64':
      return exact(view.getBigInt64(0, true));
    case 'float64':
      return view.getFloat64(0, true);
  }
}

const arrayClasses = {
  uint8: Uint8Array,
  int8: Int8Array,
  uint16: Uint16Array,
  int16: Int16Array,
  uint32: Uint32Array,
  int32: Int32Array,
  float32: Float32Array,
  uint64: BigUint64Array,
  int64: BigInt64Array,
  float64: Float64Array,
} as const;

function readArray(cursor: ByteCursor, field: string, depth: number): { elementType: GgufTypeName; value: GgufArray } {
  if (depth > maxArrayDepth)
    throw new LimitExceededError(`${field} nests arrays more than ${maxArrayDepth} deep`, {
      file: cursor.file,
      field,
      value: depth,
      limit: maxArrayDepth,
    });
  const elementType = readType(cursor, `elements of ${field}`);
  // The smallest element: a scalar, an empty string (its length), or an empty array (type and length).
  const smallest = elementType === 'string' ? 8 : elementType === 'array' ? 12 : ggufScalarBytes[elementType];
  const length = cursor.count(`length of ${field}`, Math.floor(Math.max(0, cursor.remaining - 8) / smallest));
  if (elementType === 'string') return { elementType, value: cursor.strings(length, field) };
  if (elementType === 'array') {
    const value: GgufArray[] = [];
    for (let i = 0; i < length; i++) value.push(readArray(cursor, field, depth + 1).value);
    return { elementType, value };
  }
  const bytes = cursor.copy(length * smallest, field);
  if (elementType === 'bool') return { elementType, value: Array.from(bytes, (b) => readBool(b, cursor, field)) };
  return { elementType, value: new arrayClasses[elementType](bytes.buffer, 0, length) };
}

/** Reads type and value of the metadata entry called `key`. */
export function readField(cursor: ByteCursor, key: string): GgufField {
  const field = `metadata ${key}`;
  const type = readType(cursor, field);
  if (type === 'array') return { type, ...readArray(cursor, field, 1) };
  return { type, value: readScalar(cursor, type, field) };
}
