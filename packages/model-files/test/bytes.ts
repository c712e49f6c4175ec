/** Little-endian bytes written field by field, for files that no correct writer would produce. */
export class Bytes {
  private readonly parts: Buffer[] = [];

  u32(value: number): this {
    const b = Buffer.alloc(4);
    b.writeUInt32LE(value >>> 0);
    return this.raw(b);
  }

  u64(value: number | bigint): this {
    const b = Buffer.alloc(8);
    b.writeBigUInt64LE(BigInt.asUintN(64, BigInt(value)));
    return this.raw(b);
  }

  string(value: string, length: number | bigint = Buffer.byteLength(value)): this {
    return this.u64(length).raw(Buffer.from(value));
  }

  raw(value: Uint8Array | string): this {
    this.parts.push(Buffer.from(value));
    return this;
  }

  pad(alignment: number): this {
    const size = this.build().length;
    return this.raw(Buffer.alloc((alignment - (size % alignment)) % alignment));
  }

  build(): Buffer {
    return Buffer.concat(this.parts);
  }
}

/** Magic, version 3 and the two counts. */
export function ggufStart(tensors: number | bigint, fields: number | bigint): Bytes {
  return new Bytes().raw('GGUF').u32(3).u64(tensors).u64(fields);
}

export interface RawTensor {
  readonly name: string;
  readonly dims: readonly (number | bigint)[];
  readonly type: number;
  readonly offset: number | bigint;
}

/** A file with tensors as told, and `data` bytes of data after the alignment. */
export function ggufWithTensors(tensors: readonly RawTensor[], data: number, alignment = 32): Buffer {
  const out = ggufStart(tensors.length, 0);
  for (const t of tensors) {
    out.string(t.name).u32(t.dims.length);
    for (const d of t.dims) out.u64(d);
    out.u32(t.type).u64(t.offset);
  }
  return out.pad(alignment).raw(Buffer.alloc(data)).build();
}

/** A safetensors file: length, header text, data. */
export function safetensorsFile(header: string, data = 0, length: number | bigint = Buffer.byteLength(header)): Buffer {
  return new Bytes().u64(length).raw(header).raw(Buffer.alloc(data)).build();
}
