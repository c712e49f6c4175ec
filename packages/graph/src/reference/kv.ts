import { dtypeBytes, type KvStorage, type KvTensorSpec } from '@dsi/kernels';
import { bf16ToF32, f16ToF32, f32ToBf16, f32ToF16 } from '@dsi/quantization';
import { ProgramError } from '../errors.js';

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

  /** @throws ProgramError for sizes that are no positive whole numbers, or a name given twice */
  constructor(
    readonly specs: readonly KvTensorSpec[],
    readonly numBlocks: number,
    readonly blockSize: number,
  ) {
    for (const [what, n] of [
      ['numBlocks', numBlocks],
      ['blockSize', blockSize],
      ...specs.map((s) => [`width of "${s.name}"`, s.width] as const),
    ] as const)
      if (!Number.isSafeInteger(n) || n < 1)
        throw new ProgramError(`KV: ${what} must be a positive whole number, but is ${n}.`, { operand: what });
    for (const spec of specs) {
      if (this.#tensors.has(spec.name))
        throw new ProgramError(`KV tensor "${spec.name}" is given twice.`, { operand: spec.name });
      const data = new Float32Array(numBlocks * blockSize * spec.width);
      this.#tensors.set(spec.name, { spec, data, round: rounding[spec.dtype] });
    }
  }

  /** Bytes that the declared dtypes take (this backend itself keeps four an element). */
  get bytes(): number {
    return this.specs.reduce((n, s) => n + this.numBlocks * this.blockSize * s.width * dtypeBytes[s.dtype], 0);
  }

  /** @throws ProgramError when it is missing or the storage is disposed */
  get(name: string): ReferenceKvTensor {
    if (this.#disposed) throw new ProgramError('This KV storage is disposed.', { operand: name });
    const t = this.#tensors.get(name);
    if (t === undefined) throw new ProgramError(`KV tensor "${name}" is not in the storage.`, { operand: name });
    return t;
  }

  /** Copies block src0 onto dst0, and so on, in order, in every tensor. @throws ProgramError before anything is copied */
  copyBlocks(pairs: Int32Array): void {
    if (pairs.length % 2 !== 0)
      throw new ProgramError(`blockCopies must hold pairs, but has ${pairs.length} numbers.`, {
        operand: 'blockCopies',
      });
    pairs.forEach((b, i) => {
      if (b < 0 || b >= this.numBlocks)
        throw new ProgramError(`blockCopies[${i}] must be in 0..${this.numBlocks - 1}, but is ${b}.`, {
          operand: 'blockCopies',
        });
    });
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
