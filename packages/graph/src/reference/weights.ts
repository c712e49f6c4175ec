import type { LoadOptions, WeightBytes, WeightSet, WeightTensor } from '@dsi/kernels';
import { dequantize, dequantizeFp8, dequantizeInt4Group } from '@dsi/quantization';
import { ProgramError } from '../errors.js';
import { readParts } from './weight-bytes.js';

/** A weight as f32, in its logical shape. */
export interface ReferenceWeight {
  readonly shape: readonly number[];
  readonly data: Float32Array;
}

function f32Array(parts: readonly WeightBytes[], what: string): Float32Array {
  const bytes = readParts(parts);
  if (bytes.length % 4 !== 0)
    throw new ProgramError(`${what} has ${bytes.length} bytes, not a whole number of float32.`, { operand: what });
  return new Float32Array(bytes.buffer, 0, bytes.length / 4);
}

/** The logical f32 values of a weight: reads every part, whatever the format. */
export function decodeWeight(w: WeightTensor): ReferenceWeight {
  const cols = w.shape.at(-1)!;
  const elements = w.shape.reduce((a, b) => a * b, 1);
  const rows = elements / cols;
  const bytes = readParts(w.data);
  const { format } = w;
  if (format === 'INT4_GROUP') {
    if (w.int4 === undefined)
      throw new ProgramError(`Weight "${w.name}" is INT4_GROUP but has no scales (int4).`, { operand: w.name });
    const { groupSize, perm } = w.int4;
    const scales = f32Array(w.int4.scales, `${w.name}: scales`);
    const zeros = f32Array(w.int4.zeros, `${w.name}: zeros`);
    const matrix = { rows, cols, groupSize, codes: bytes, scales, zeros };
    return { shape: w.shape, data: dequantizeInt4Group(perm === undefined ? matrix : { ...matrix, perm }) };
  }
  if (format === 'F8_E4M3' || format === 'F8_E5M2') return { shape: w.shape, data: decodeFp8(w, format, bytes) };
  return { shape: w.shape, data: dequantize(format, bytes, elements) };
}

/** Scales cover each of the [N, K] matrices of a [G, N, K] weight by itself. */
function decodeFp8(w: WeightTensor, format: 'F8_E4M3' | 'F8_E5M2', bytes: Uint8Array): Float32Array {
  const cols = w.shape.at(-1)!;
  const rows = w.shape.length > 1 ? w.shape.at(-2)! : 1;
  const elements = w.shape.reduce((a, b) => a * b, 1);
  const matrices = elements / (rows * cols);
  const blockRows = w.blockScales?.blockRows ?? rows;
  const blockCols = w.blockScales?.blockCols ?? cols;
  const scales =
    w.blockScales === undefined
      ? new Float32Array(matrices).fill(1)
      : f32Array(w.blockScales.data, `${w.name}: block scales`);
  const tiles = Math.ceil(rows / blockRows) * Math.ceil(cols / blockCols);
  if (bytes.length !== elements || scales.length !== matrices * tiles)
    throw new ProgramError(
      `Weight "${w.name}" (${format} [${w.shape.join(', ')}]) has ${bytes.length} bytes and ${scales.length} scales, expected ${elements} and ${matrices * tiles}.`,
      { operand: w.name },
    );
  const out = new Float32Array(elements);
  for (let m = 0; m < matrices; m++) {
    const at = m * rows * cols;
    dequantizeFp8(
      bytes.subarray(at, at + rows * cols),
      { rows, cols, format, blockRows, blockCols, scales: scales.subarray(m * tiles, (m + 1) * tiles) },
      out.subarray(at, at + rows * cols),
    );
  }
  return out;
}

function storedBytes(w: WeightTensor): number {
  return w.data.reduce((n, p) => n + ('bytes' in p ? p.bytes.length : p.byteLength), 0);
}

/** Weights decoded to f32 at load: four bytes a parameter, whatever the checkpoint holds. */
export class ReferenceWeights implements WeightSet {
  readonly #weights = new Map<string, ReferenceWeight>();
  #disposed = false;

  /** Decodes one weight after the other, letting other work run between them. @throws ProgramError; the signal's reason */
  static async load(weights: readonly WeightTensor[], options: LoadOptions): Promise<ReferenceWeights> {
    const set = new ReferenceWeights();
    const totalBytes = weights.reduce((n, w) => n + storedBytes(w), 0);
    let loadedBytes = 0;
    for (const w of weights) {
      options.signal?.throwIfAborted();
      if (set.#weights.has(w.name)) throw new ProgramError(`Weight "${w.name}" is given twice.`, { operand: w.name });
      set.#weights.set(w.name, decodeWeight(w));
      loadedBytes += storedBytes(w);
      options.onProgress?.({ loadedBytes, totalBytes, name: w.name });
      await new Promise((resolve) => setImmediate(resolve));
    }
    return set;
  }

  get names(): ReadonlySet<string> {
    return new Set(this.#weights.keys());
  }

  get bytes(): number {
    let n = 0;
    for (const w of this.#weights.values()) n += w.data.byteLength;
    return n;
  }

  /** @throws ProgramError when it is missing or the set is disposed */
  get(name: string): ReferenceWeight {
    if (this.#disposed) throw new ProgramError('These weights are disposed.', { operand: name });
    const w = this.#weights.get(name);
    if (w === undefined) throw new ProgramError(`Weight "${name}" is not loaded.`, { operand: name });
    return w;
  }

  dispose(): void {
    this.#disposed = true;
    this.#weights.clear();
  }
}
