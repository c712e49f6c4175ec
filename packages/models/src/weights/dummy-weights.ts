import { formatByName, quantizableFormats, quantize, quantizeFp8 } from '@dsi/model-files';
import type { WeightFormat, WeightTensor } from '../contract.js';
import { UnsupportedModelError } from '../errors.js';
import { isFp8, spanBytes } from './formats.js';
import { bytesOf, lazyPart } from './lazy-bytes.js';
import { hashName, normalValues, randomWords } from './random-values.js';
import type { Projection, WeightSource } from './weight-source.js';

/** Formats that random weights can be made in. */
export const dummyFormats: readonly WeightFormat[] = [
  ...(quantizableFormats as readonly WeightFormat[]),
  'F8_E4M3',
  'F8_E5M2',
  'INT4_GROUP',
];

/** Elements of the sheet of rows that large matrices repeat: big enough to be no pattern to a kernel, small enough to make at once. */
const sheetElements = 1 << 16;
const fp8Block = 128;
const int4Group = 128;

/** Encoded rows that matrices of one row length are filled from. */
interface Sheet {
  readonly rows: number;
  readonly bytes: Uint8Array;
  /** F8: what the stored values are multiplied with. */
  readonly scale: number;
}

/**
 * Random weights of any shape: norms near 1, routers and biases in F32, matrices in one format. Same name, shape, format and seed, same
 * bytes. Matrices repeat a sheet of random rows from a place that depends on their name; bytes are made when they are read.
 */
export class DummyWeights implements WeightSource {
  readonly #sheets = new Map<number, Sheet>();

  constructor(
    private readonly format: WeightFormat,
    private readonly seed: number,
  ) {
    if (!dummyFormats.includes(format))
      throw new UnsupportedModelError('format of dummy weights', format, dummyFormats);
  }

  /** Absorbed MLA projections are made as such; every other weight has its plain form. */
  has(name: string): boolean {
    return name.endsWith('.k_b_proj.weight') || name.endsWith('.v_b_proj.weight');
  }

  weight(name: string, shape: readonly number[]): WeightTensor {
    if (shape.length === 1) return this.#values(name, shape, name.endsWith('norm.weight') ? 1 : 0, 0.1);
    const router = name.endsWith('.mlp.gate.weight') || name.endsWith('shared_expert_gate.weight');
    if (router) return this.#values(name, shape, 0, 1 / Math.sqrt(shape.at(-1) as number));
    return this.#matrix(name, shape);
  }

  experts(mlp: string, projection: Projection, shape: readonly [number, number, number]): WeightTensor {
    return this.#matrix(`${mlp}.experts.${projection}_proj.weight`, shape);
  }

  unused(): string[] {
    return [];
  }

  #values(name: string, shape: readonly number[], mean: number, deviation: number): WeightTensor {
    const count = shape.reduce((n, d) => n * d, 1);
    const seed = hashName(name, this.seed);
    const data = lazyPart(4 * count, () => bytesOf(normalValues(count, deviation, seed, mean)));
    return { name, format: 'F32', shape, data: [data] };
  }

  #matrix(name: string, shape: readonly number[]): WeightTensor {
    const columns = shape.at(-1) as number;
    const rows = shape.reduce((n, d) => n * d, 1) / columns;
    const format = this.#formatFor(columns);
    const rowBytes = spanBytes(name, format, columns);
    const start = hashName(name, this.seed);
    const data = lazyPart(rows * rowBytes, () => {
      const sheet = this.#sheet(columns, format);
      const out = new Uint8Array(rows * rowBytes);
      let row = start % sheet.rows;
      for (let at = 0; at < out.length;) {
        const take = sheet.bytes.subarray(row * rowBytes, row * rowBytes + out.length - at);
        out.set(take, at);
        at += take.length;
        row = 0;
      }
      return out;
    });
    const base = { name, format, shape, data: [data] };
    const matrixRows = shape.at(-2) as number;
    if (isFp8(format)) {
      const blocks = (rows / matrixRows) * Math.ceil(matrixRows / fp8Block) * Math.ceil(columns / fp8Block);
      return {
        ...base,
        blockScales: {
          data: [constant(blocks, () => this.#sheet(columns, format).scale)],
          blockRows: fp8Block,
          blockCols: fp8Block,
        },
      };
    }
    if (format === 'INT4_GROUP') {
      const groups = rows * (columns / int4Group);
      const scale = 0.3 / Math.sqrt(columns);
      return {
        ...base,
        int4: { groupSize: int4Group, scales: [constant(groups, () => scale)], zeros: [constant(groups, () => 8)] },
      };
    }
    return base;
  }

  /** Rows that are not whole blocks fall back as llama.cpp's quantiser does: to Q8_0, then F16. */
  #formatFor(columns: number): WeightFormat {
    if (isFp8(this.format)) return this.format;
    if (this.format === 'INT4_GROUP') return columns % int4Group === 0 ? this.format : 'F16';
    if (columns % formatByName(this.format).blockSize === 0) return this.format;
    return columns % 32 === 0 ? 'Q8_0' : 'F16';
  }

  #sheet(columns: number, format: WeightFormat): Sheet {
    const known = this.#sheets.get(columns);
    if (known !== undefined) return known;
    // An odd number of rows, so that repetition does not fall in step with tiles.
    const rows = Math.max(1, Math.floor(sheetElements / columns)) | 1;
    const seed = hashName(`${format} ${columns}`, this.seed);
    const sheet = encodedRows(format, rows, columns, seed);
    this.#sheets.set(columns, sheet);
    return sheet;
  }
}

function encodedRows(format: WeightFormat, rows: number, columns: number, seed: number): Sheet {
  if (format === 'INT4_GROUP') {
    const words = randomWords(seed);
    return { rows, bytes: Uint8Array.from({ length: (rows * columns) / 2 }, () => words() & 255), scale: 1 };
  }
  const values = normalValues(rows * columns, 0.7 / Math.sqrt(columns), seed);
  if (!isFp8(format)) return { rows, bytes: quantize(formatByName(format).name, values, columns), scale: 1 };
  const { bytes, scales } = quantizeFp8(values, { rows, cols: columns, format, blockRows: rows, blockCols: columns });
  return { rows, bytes, scale: scales[0] as number };
}

function constant(count: number, value: () => number): ReturnType<typeof lazyPart> {
  return lazyPart(4 * count, () => bytesOf(new Float32Array(count).fill(value())));
}
