import { DisposedError, dtypeBytes, type KvStorage, type KvTensorSpec } from '@dsi/kernels';
import { bf16ToF32, f16ToF32, f32ToBf16, f32ToF16 } from '@dsi/quantization';

const rounding: Readonly<Record<KvTensorSpec['dtype'], (x: number) => number>> = {
  f32: (x) => x,
  f16: (x) => f16ToF32(f32ToF16(x)),
  bf16: (x) => bf16ToF32(f32ToBf16(x)),
};

export interface ReferenceKvTensor {
  readonly spec: KvTensorSpec;
  /** [slots, width]: values that the dtype holds exactly. */
  readonly data: Float32Array;
  readonly round: (x: number) => number;
}

/** KV tensors as f32 arrays whose values are rounded to the declared dtype. */
export class ReferenceKv implements KvStorage {
  readonly #tensors = new Map<string, ReferenceKvTensor>();
  #disposed = false;

  /** @throws RangeError for sizes that are no positive whole numbers, or a name given twice */
  constructor(
    readonly specs: readonly KvTensorSpec[],
    readonly numBlocks: number,
    readonly blockSize: number,
  ) {
    const sizes = {
      numBlocks,
      blockSize,
      ...Object.fromEntries(specs.map((s) => [`the width of "${s.name}"`, s.width])),
    };
    for (const [what, n] of Object.entries(sizes))
      if (!Number.isSafeInteger(n) || n < 1)
        throw new RangeError(`createKv: ${what} is ${n}, it must be a whole number above 0`);
    for (const spec of specs) {
      if (this.#tensors.has(spec.name)) throw new RangeError(`createKv: two tensors have the name "${spec.name}"`);
      const data = new Float32Array(numBlocks * blockSize * spec.width);
      this.#tensors.set(spec.name, { spec, data, round: rounding[spec.dtype] });
    }
  }

  /** Bytes that the declared dtypes take (this backend itself keeps four an element). */
  get bytes(): number {
    return this.specs.reduce((n, s) => n + this.numBlocks * this.blockSize * s.width * dtypeBytes[s.dtype], 0);
  }

  /** Undefined when there is none. @throws DisposedError */
  get(name: string): ReferenceKvTensor | undefined {
    if (this.#disposed) throw new DisposedError('the KvStorage');
    return this.#tensors.get(name);
  }

  /** Copies block src0 onto dst0, and so on, in order, in every tensor. Block numbers are checked by the caller. */
  copyBlocks(pairs: Int32Array): void {
    for (const { spec, data } of this.#tensors.values()) {
      const size = this.blockSize * spec.width;
      for (let i = 0; i < pairs.length; i += 2)
        data.copyWithin(pairs[i + 1]! * size, pairs[i]! * size, (pairs[i]! + 1) * size);
    }
  }

  dispose(): void {
    this.#disposed = true;
    this.#tensors.clear();
  }
}
