import { MalformedFieldError } from '../errors.js';
import { ggufTypeNames, type GgufArray, type GgufField, type GgufTypeName } from './value.js';

/** Growing little-endian buffer. */
export class ByteBuilder {
  private buffer = Buffer.alloc(65536);
  length = 0;

  private reserve(count: number): number {
    const start = this.length;
    this.length += count;
    if (this.length > this.buffer.length) {
      const next = Buffer.alloc(Math.max(this.length, this.buffer.length * 2));
      this.buffer.copy(next, 0, 0, start);
      this.buffer = next;
    }
    return start;
  }

  u32(value: number): void {
    const start = this.reserve(4);
    this.buffer.writeUInt32LE(value, start);
  }

  u64(value: number | bigint): void {
    const start = this.reserve(8);
    this.buffer.writeBigUInt64LE(BigInt(value), start);
  }

  string(value: string): void {
    const length = Buffer.byteLength(value);
    this.u64(length);
    const start = this.reserve(length);
    this.buffer.write(value, start, 'utf8');
  }

  bytes(value: Uint8Array): void {
    const start = this.reserve(value.length);
    this.buffer.set(value, start);
  }

  pad(alignment: number): void {
    const start = this.reserve((alignment - (this.length % alignment)) % alignment);
    this.buffer.fill(0, start, this.length);
  }

  finish(): Uint8Array {
    return this.buffer.subarray(0, this.length);
  }
}

function typeId(type: GgufTypeName): number {
  return ggufTypeNames.indexOf(type);
}

const ranges: Partial<Record<GgufTypeName, readonly [bigint, bigint]>> = {
  uint8: [0n, 255n],
  int8: [-128n, 127n],
  uint16: [0n, 65535n],
  int16: [-32768n, 32767n],
  uint32: [0n, 2n ** 32n - 1n],
  int32: [-(2n ** 31n), 2n ** 31n - 1n],
  uint64: [0n, 2n ** 64n - 1n],
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
};

function scalarBytes(type: GgufTypeName, value: number | bigint | boolean): Uint8Array | undefined {
  const view = new DataView(new ArrayBuffer(8));
  const take = (bytes: number): Uint8Array => new Uint8Array(view.buffer, 0, bytes);
  if (type === 'bool') {
    if (typeof value !== 'boolean') return undefined;
    view.setUint8(0, value ? 1 : 0);
    return take(1);
  }
  if (typeof value === 'boolean') return undefined;
  if (type === 'float32' || type === 'float64') {
    if (typeof value !== 'number') return undefined;
    if (type === 'float32') view.setFloat32(0, value, true);
    else view.setFloat64(0, value, true);
    return take(type === 'float32' ? 4 : 8);
  }
  const range = ranges[type];
  if (range === undefined || (typeof value === 'number' && !Number.isInteger(value))) return undefined;
  const whole = BigInt(value);
  if (whole < range[0] || whole > range[1]) return undefined;
  view.setBigInt64(0, BigInt.asIntN(64, whole), true);
  return take(type.endsWith('8') ? 1 : type.endsWith('16') ? 2 : type.endsWith('32') ? 4 : 8);
}

function encodeArray(out: ByteBuilder, elementType: GgufTypeName, value: GgufArray, refuse: () => never): void {
  out.u32(typeId(elementType));
  out.u64(value.length);
  if (ArrayBuffer.isView(value)) return out.bytes(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
  for (const element of value) {
    if (typeof element === 'string' && elementType === 'string') out.string(element);
    else if (typeof element === 'boolean' && elementType === 'bool') out.bytes(Uint8Array.of(element ? 1 : 0));
    else refuse();
  }
}

/** Appends key, type and value. Throws MalformedFieldError if the value does not fit its type. */
export function encodeField(out: ByteBuilder, key: string, field: GgufField, file: string): void {
  const refuse = (): never => {
    throw new MalformedFieldError(`metadata ${key} cannot be written as ${field.type}`, {
      file,
      field: key,
      value: String(field.value).slice(0, 40),
      limit: field.type === 'array' ? `elements of type ${field.elementType}` : field.type,
    });
  };
  out.string(key);
  out.u32(typeId(field.type));
  if (field.type === 'array') return encodeArray(out, field.elementType, field.value, refuse);
  if (field.type === 'string') return typeof field.value === 'string' ? out.string(field.value) : refuse();
  if (typeof field.value === 'string') return refuse();
  out.bytes(scalarBytes(field.type, field.value) ?? refuse());
}
