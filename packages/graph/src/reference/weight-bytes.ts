import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import type { WeightBytes } from '@dsi/kernels';
import { ProgramError } from '../errors.js';

function readRange(file: string, offset: number, into: Uint8Array): void {
  const fd = openSync(file, 'r');
  try {
    const { size } = fstatSync(fd);
    if (offset < 0 || offset + into.length > size)
      throw new ProgramError(`${file}: bytes ${offset}..${offset + into.length} do not exist, the file has ${size}.`, {
        operand: file,
        expected: `at most ${size} bytes`,
        actual: `${offset + into.length}`,
      });
    for (let done = 0; done < into.length;) {
      const n = readSync(fd, into, done, into.length - done, offset + done);
      if (n === 0) throw new ProgramError(`${file}: ends early, at byte ${offset + done}.`, { operand: file });
      done += n;
    }
  } finally {
    closeSync(fd);
  }
}

/** The parts of a weight one after the other, in a fresh buffer. @throws ProgramError for a range outside its file */
export function readParts(parts: readonly WeightBytes[]): Uint8Array {
  const sizes = parts.map((p) => ('bytes' in p ? p.bytes.length : p.byteLength));
  // A range beyond its file is found before memory for it is asked for.
  for (const p of parts)
    if (!('bytes' in p)) readRange(p.file, p.offset + Math.max(p.byteLength, 1) - 1, new Uint8Array(1));
  const out = new Uint8Array(sizes.reduce((a, b) => a + b, 0));
  let at = 0;
  parts.forEach((p, i) => {
    const size = sizes[i]!;
    if ('bytes' in p) out.set(p.bytes, at);
    else readRange(p.file, p.offset, out.subarray(at, at + size));
    at += size;
  });
  return out;
}
