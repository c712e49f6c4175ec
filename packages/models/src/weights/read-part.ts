import { closeSync, openSync, readSync } from 'node:fs';
import type { WeightBytes } from '../contract.js';
import { WeightFormatError } from '../errors.js';

/** The bytes of a part, read now. Bytes of a file are fresh; those of memory are the part's own, not to be written to. */
export function readPart(part: WeightBytes): Uint8Array {
  if ('bytes' in part) return part.bytes;
  const out = new Uint8Array(part.byteLength);
  const file = openSync(part.file, 'r');
  try {
    let filled = 0;
    while (filled < out.length) {
      const count = readSync(file, out, filled, out.length - filled, part.offset + filled);
      if (count === 0) {
        throw new WeightFormatError(
          part.file,
          'file',
          `it ends before byte ${part.offset + part.byteLength}; download it again`,
        );
      }
      filled += count;
    }
  } finally {
    closeSync(file);
  }
  return out;
}

/** All parts, one after the other. */
export function readParts(parts: readonly WeightBytes[]): Uint8Array {
  const [first] = parts;
  if (first !== undefined && parts.length === 1) return readPart(first);
  const chunks = parts.map(readPart);
  const out = new Uint8Array(chunks.reduce((n, c) => n + c.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    out.set(chunk, at);
    at += chunk.length;
  }
  return out;
}

/** Elements of little-endian bytes in an aligned array; a copy only where the bytes are not aligned. */
export function asInt32(bytes: Uint8Array): Int32Array {
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice();
  return new Int32Array(aligned.buffer, aligned.byteOffset, aligned.byteLength / 4);
}

export function asUint16(bytes: Uint8Array): Uint16Array {
  const aligned = bytes.byteOffset % 2 === 0 ? bytes : bytes.slice();
  return new Uint16Array(aligned.buffer, aligned.byteOffset, aligned.byteLength / 2);
}

export function asFloat32(bytes: Uint8Array): Float32Array {
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice();
  return new Float32Array(aligned.buffer, aligned.byteOffset, aligned.byteLength / 4);
}
