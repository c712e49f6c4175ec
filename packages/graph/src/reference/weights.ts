import {
  DisposedError,
  WeightLoadError,
  type LoadOptions,
  type Numerics,
  type WeightBytes,
  type WeightSet,
  type WeightTensor,
  type WeightUse,
} from '@dsi/kernels';
import { dequantize, dequantizeFp8, dequantizeInt4Group } from '@dsi/quantization';
import { readParts } from './weight-bytes.js';

/** A weight as f32, in its logical shape. */
export interface ReferenceWeight {
  readonly shape: readonly number[];
  readonly data: Float32Array;
}

function f32Array(weight: string, parts: readonly WeightBytes[], what: string): Float32Array {
  const bytes = readParts(weight, parts);
  if (bytes.length % 4 !== 0)
    throw new WeightLoadError(weight, `its ${what} have ${bytes.length} bytes, not a whole number of float32`);
  return new Float32Array(bytes.buffer, 0, bytes.length / 4);
}

/** The logical f32 values of a weight: reads every part, whatever the format. */
export function decodeWeight(w: WeightTensor): ReferenceWeight {
  const cols = w.shape.at(-1)!;
  const elements = w.shape.reduce((a, b) => a * b, 1);
  const rows = elements / cols;
  const bytes = readParts(w.name, w.data);
  const { format } = w;
  if (format === 'INT4_GROUP') {
    if (w.int4 === undefined) throw new WeightLoadError(w.name, 'it is INT4_GROUP but has no scales (int4)');
    const { groupSize, perm } = w.int4;
    const scales = f32Array(w.name, w.int4.scales, 'scales');
    const zeros = f32Array(w.name, w.int4.zeros, 'zeros');
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
      : f32Array(w.name, w.blockScales.data, 'block scales');
  const tiles = Math.ceil(rows / blockRows) * Math.ceil(cols / blockCols);
  if (bytes.length !== elements || scales.length !== matrices * tiles)
    throw new WeightLoadError(
      w.name,
      `${format} [${w.shape.join(', ')}] has ${bytes.length} bytes and ${scales.length} scales, expected ${elements} and ${matrices * tiles}`,
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

  private constructor(readonly numerics: Numerics) {}

  /**
   * Decodes one weight after the other, letting other work run between them. Those without a use are left out.
   *
   * @throws WeightLoadError naming the weight; the error of @dsi/quantization for bytes that do not fit the format; the signal's reason
   */
  static async load(
    weights: readonly WeightTensor[],
    uses: ReadonlyMap<string, ReadonlySet<WeightUse>>,
    options: LoadOptions,
  ): Promise<ReferenceWeights> {
    const set = new ReferenceWeights(options.numerics);
    const used = weights.filter((w) => (uses.get(w.name)?.size ?? 0) > 0);
    const totalBytes = used.reduce((n, w) => n + storedBytes(w), 0);
    let loadedBytes = 0;
    for (const w of used) {
      options.signal?.throwIfAborted();
      if (set.#weights.has(w.name)) throw new WeightLoadError(w.name, 'it is given twice');
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

  /** Undefined when it was not loaded. @throws DisposedError */
  get(name: string): ReferenceWeight | undefined {
    if (this.#disposed) throw new DisposedError('the WeightSet');
    return this.#weights.get(name);
  }

  dispose(): void {
    this.#disposed = true;
    this.#weights.clear();
  }
}
