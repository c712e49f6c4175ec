import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';

/** Tensors of one gzipped safetensors fixture by name, as bytes with typed views. */
export class Fixture {
  private readonly data: Buffer;
  private readonly header: Record<string, { shape: number[]; data_offsets: [number, number] }>;

  constructor(name: string) {
    const file = gunzipSync(readFileSync(new URL(`./fixtures/${name}.safetensors.gz`, import.meta.url)));
    const length = Number(file.readBigUInt64LE(0));
    this.header = JSON.parse(file.toString('utf8', 8, 8 + length)) as typeof this.header;
    this.data = file.subarray(8 + length);
  }

  names(): string[] {
    return Object.keys(this.header);
  }

  shape(name: string): number[] {
    return this.header[name]!.shape;
  }

  bytes(name: string): Uint8Array<ArrayBuffer> {
    const [begin, end] = this.header[name]!.data_offsets;
    return Uint8Array.from(this.data.subarray(begin, end));
  }

  f32(name: string): Float32Array {
    return new Float32Array(this.bytes(name).buffer);
  }

  u32(name: string): Uint32Array {
    return new Uint32Array(this.bytes(name).buffer);
  }

  i32(name: string): Int32Array {
    return new Int32Array(this.bytes(name).buffer);
  }

  u16(name: string): Uint16Array {
    return new Uint16Array(this.bytes(name).buffer);
  }
}

/** Bits of float32 values, for comparing without a tolerance. */
export function bitsOf(values: Float32Array): Uint32Array {
  return new Uint32Array(values.buffer, values.byteOffset, values.length);
}
