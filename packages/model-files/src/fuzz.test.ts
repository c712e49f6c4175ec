import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readFile } from 'node:fs/promises';
import { temporaryDirectory } from '../test/temporary.js';
import { ModelFileError } from './errors.js';
import { gguf } from './gguf/fields.js';
import { writeGguf } from './gguf/write.js';
import { openModel } from './open-model.js';
import { writeSafetensors } from './safetensors/write.js';

const temporary = temporaryDirectory();

/** One change of a file: a byte, eight bytes (counts and offsets), a cut, or an insertion. */
const mutation = fc.oneof(
  fc.record({ kind: fc.constant('byte' as const), at: fc.nat(), value: fc.nat(255) }),
  fc.record({ kind: fc.constant('word' as const), at: fc.nat(), value: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }) }),
  fc.record({ kind: fc.constant('cut' as const), at: fc.nat(), value: fc.constant(0) }),
  fc.record({ kind: fc.constant('insert' as const), at: fc.nat(), value: fc.nat(255) }),
);

function apply(
  bytes: Buffer,
  m: { kind: 'byte' | 'word' | 'cut' | 'insert'; at: number; value: number | bigint },
): Buffer {
  const at = m.at % Math.max(1, bytes.length);
  if (m.kind === 'cut') return bytes.subarray(0, at);
  if (m.kind === 'insert')
    return Buffer.concat([bytes.subarray(0, at), Buffer.from([Number(m.value)]), bytes.subarray(at)]);
  const out = Buffer.from(bytes);
  if (m.kind === 'byte') out[at] = Number(m.value);
  else if (at + 8 <= out.length) out.writeBigUInt64LE(BigInt(m.value), at);
  return out;
}

async function survives(path: string): Promise<void> {
  try {
    const model = await openModel(path);
    for (const name of model.tensors.keys()) await model.read(name);
    await model.close();
  } catch (error) {
    if (!(error instanceof ModelFileError)) throw error;
  }
}

describe('mutated files', () => {
  it('GGUF: open or fail with a typed error', async () => {
    const path = temporary.path('valid.gguf');
    await writeGguf(path, {
      metadata: new Map([
        ['general.architecture', gguf.string('llama')],
        ['tokens', gguf.array(['a', 'b', 'ü'])],
        ['scores', gguf.array(Float32Array.of(1, 2, 3))],
        ['flag', gguf.bool(true)],
        ['big', gguf.uint64(2n ** 60n)],
      ]),
      tensors: [
        { name: 'a', type: 'F32', shape: [2, 3], data: new Uint8Array(24) },
        { name: 'b', type: 'Q4_0', shape: [2, 32], data: new Uint8Array(36) },
      ],
    });
    const valid = await readFile(path);
    await fc.assert(
      fc.asyncProperty(fc.array(mutation, { minLength: 1, maxLength: 4 }), async (mutations) => {
        await survives(await temporary.write('mutated.gguf', mutations.reduce(apply, valid)));
      }),
      { numRuns: 400 },
    );
    await expect(survives(path)).resolves.toBeUndefined();
  });

  it('safetensors: open or fail with a typed error', async () => {
    const path = temporary.path('valid.safetensors');
    await writeSafetensors(path, {
      tensors: [
        { name: 'a', dtype: 'F32', shape: [2, 3], data: new Uint8Array(24) },
        { name: 'b', dtype: 'BF16', shape: [5], data: new Uint8Array(10) },
      ],
      metadata: { format: 'pt' },
    });
    const valid = await readFile(path);
    await fc.assert(
      fc.asyncProperty(fc.array(mutation, { minLength: 1, maxLength: 4 }), async (mutations) => {
        await survives(await temporary.write('mutated.safetensors', mutations.reduce(apply, valid)));
      }),
      { numRuns: 400 },
    );
  });
});
