import { f32ArrayToBf16 } from '@dsi/model-files';
import type { MlaConfig } from '../config/model-config.js';
import type { WeightBytes, WeightFormat, WeightTensor } from '../contract.js';
import { decodeMatrix } from './decode.js';
import { isFp8, spanBytes } from './formats.js';
import { bytesOf, lazyPart } from './lazy-bytes.js';
import { asFloat32, asInt32, asUint16, readParts } from './read-part.js';
import { slicePart } from './slice.js';
import type { WeightSource } from './weight-source.js';

/** What the absorbed projections are made from. */
export interface HeadMatrixContext {
  readonly source: WeightSource;
  readonly numerics: 'exact' | 'fast';
  readonly config: { readonly heads: number };
}

/**
 * W_UK as [H, C, nope]: q_latent = W_UK q_nope. GGUF's attn_k_b is that already. From kv_b_proj (rows of a head: [k_nope | v]) it is a
 * transposition: of the stored 16- or 32-bit elements as they are; of quantised ones after decoding, to F32 in exact numerics and to
 * BF16 in fast (their blocks run along the wrong axis, and they are never quantised again).
 */
export function absorbedKeys(m: HeadMatrixContext, at: string, mla: MlaConfig): WeightTensor {
  const { heads } = m.config;
  const { kvLoraRank: latent, qkNopeHeadDim: nope, vHeadDim } = mla;
  const name = `${at}.w_uk`;
  const shape = [heads, latent, nope];
  if (m.source.has(`${at}.k_b_proj.weight`)) return { ...m.source.weight(`${at}.k_b_proj.weight`, shape), name };
  const kvB = keyValueMatrix(m, at, mla);
  const headRows = nope + vHeadDim;
  const width = elementBytes(kvB.format);
  if (width !== undefined) {
    const data = lazyPart(heads * nope * latent * width, () =>
      transposeHeads(readParts(kvB.data), { heads, headRows, rows: nope, columns: latent, width }),
    );
    return { name, format: kvB.format, shape, data: [data] };
  }
  const format = decodedFormat(m);
  const data = lazyPart(heads * nope * latent * (format === 'F32' ? 4 : 2), () => {
    const values = bytesOf(decodeMatrix(kvB));
    const transposed = transposeHeads(values, { heads, headRows, rows: nope, columns: latent, width: 4 });
    return encoded(transposed, format);
  });
  return { name, format, shape, data: [data] };
}

/** W_UV as [H, v, C]: rows of kv_b_proj, used where they lie; 8-bit float and 4-bit matrices are decoded as in {@link absorbedKeys}. */
export function absorbedValues(m: HeadMatrixContext, at: string, mla: MlaConfig): WeightTensor {
  const { heads } = m.config;
  const { kvLoraRank: latent, qkNopeHeadDim: nope, vHeadDim } = mla;
  const name = `${at}.w_uv`;
  const shape = [heads, vHeadDim, latent];
  if (m.source.has(`${at}.v_b_proj.weight`)) return { ...m.source.weight(`${at}.v_b_proj.weight`, shape), name };
  const kvB = keyValueMatrix(m, at, mla);
  const headRows = nope + vHeadDim;
  if (!isFp8(kvB.format) && kvB.format !== 'INT4_GROUP') {
    const rowBytes = spanBytes(kvB.name, kvB.format, latent);
    const whole = kvB.data[0] as WeightBytes;
    const data = Array.from({ length: heads }, (_, h) =>
      slicePart(whole, (h * headRows + nope) * rowBytes, (h + 1) * headRows * rowBytes),
    );
    return { name, format: kvB.format, shape, data };
  }
  const format = decodedFormat(m);
  const data = lazyPart(heads * vHeadDim * latent * (format === 'F32' ? 4 : 2), () => {
    const values = decodeMatrix(kvB);
    const picked = new Float32Array(heads * vHeadDim * latent);
    for (let h = 0; h < heads; h++) {
      const from = (h * headRows + nope) * latent;
      picked.set(values.subarray(from, from + vHeadDim * latent), h * vHeadDim * latent);
    }
    return encoded(bytesOf(picked), format);
  });
  return { name, format, shape, data: [data] };
}

function keyValueMatrix(m: HeadMatrixContext, at: string, mla: MlaConfig): WeightTensor {
  const rows = m.config.heads * (mla.qkNopeHeadDim + mla.vHeadDim);
  return m.source.weight(`${at}.kv_b_proj.weight`, [rows, mla.kvLoraRank]);
}

function decodedFormat(m: HeadMatrixContext): 'F32' | 'BF16' {
  return m.numerics === 'exact' ? 'F32' : 'BF16';
}

function elementBytes(format: WeightFormat): 2 | 4 | undefined {
  if (format === 'F32') return 4;
  return format === 'F16' || format === 'BF16' ? 2 : undefined;
}

function encoded(f32: Uint8Array, format: 'F32' | 'BF16'): Uint8Array {
  if (format === 'F32') return f32;
  return bytesOf(f32ArrayToBf16(asFloat32(f32)));
}

interface HeadLayout {
  readonly heads: number;
  /** Rows of a head in the source, of which the first `rows` are taken. */
  readonly headRows: number;
  readonly rows: number;
  readonly columns: number;
  /** Bytes of an element. */
  readonly width: 2 | 4;
}

/** [heads * headRows, columns] -> [heads, columns, rows], elements moved as they are. */
function transposeHeads(bytes: Uint8Array, { heads, headRows, rows, columns, width }: HeadLayout): Uint8Array {
  const Elements = width === 4 ? Int32Array : Uint16Array;
  const source = width === 4 ? asInt32(bytes) : asUint16(bytes);
  const out = new Elements(heads * columns * rows);
  for (let h = 0; h < heads; h++) {
    for (let r = 0; r < rows; r++) {
      const from = (h * headRows + r) * columns;
      const to = h * columns * rows + r;
      for (let c = 0; c < columns; c++) out[to + c * rows] = source[from + c] as number;
    }
  }
  return bytesOf(out);
}
