import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { WeightLoadError, type WeightBytes } from '@dsi/kernels';

/** Fills `into` from a byte offset of a file. */
function readRange(weight: string, file: string, offset: number, into: Uint8Array): void {
  const fd = openSync(file, 'r');
  try {
    const { size } = fstatSync(fd);
    if (offset < 0 || offset + into.length > size)
      throw new WeightLoadError(
        weight,
        `bytes ${offset}..${offset + into.length} of ${file} do not exist, it has ${size}`,
      );
    for (let done = 0; done < into.length;) {
      const n = readSync(fd, into, done, into.length - done, offset + done);
      if (n === 0) throw new WeightLoadError(weight, `${file} ends early, at byte ${offset + done}`);
      done += n;
    }
  } finally {
    closeSync(fd);
  }
}

/**
 * The parts of a weight one after the other, in a fresh buffer.
 *
 * @param weight name for messages
 * @throws WeightLoadError for a range outside its file; the error of node:fs when it cannot be read
 */
export function readParts(weight: string, parts: readonly WeightBytes[]): Uint8Array {
  // A range beyond its file is found before memory for it is asked for.
  for (const p of parts)
    if (!('bytes' in p)) readRange(weight, p.file, p.offset + Math.max(p.byteLength, 1) - 1, new Uint8Array(1));
  const sizes = parts.map((p) => ('bytes' in p ? p.bytes.length : p.byteLength));
  const out = new Uint8Array(sizes.reduce((a, b) => a + b, 0));
  let at = 0;
  parts.forEach((p, i) => {
    const size = sizes[i]!;
    if ('bytes' in p) out.set(p.bytes, at);
    else readRange(weight, p.file, p.offset, out.subarray(at, at + size));
    at += size;
  });
  return out;
}
