import type { KvStorage, KvTensorSpec } from '../backend.js';
import { dtypeBytes } from '../dtype.js';
import type { NativeAddon, NativeBackend, NativeKv } from '../native/addon.js';
import { translateNativeError } from '../native/errors.js';

const dtypes = ['f32', 'f16', 'bf16'] as const;
const maxSlots = 2 ** 31 - 1;

/** KV tensors in native memory. Pages are zero and take memory only once written. */
export class CpuKvStorage implements KvStorage {
  readonly bytes: number;
  /** @internal */
  readonly native: NativeKv;
  /** Place of each tensor, by name. @internal */
  readonly index: ReadonlyMap<string, number>;

  constructor(
    addon: NativeAddon,
    backend: NativeBackend,
    readonly specs: readonly KvTensorSpec[],
    readonly numBlocks: number,
    readonly blockSize: number,
  ) {
    for (const [name, value] of Object.entries({ numBlocks, blockSize })) {
      if (!Number.isSafeInteger(value) || value < 1) {
        throw new RangeError(`createKv: ${name} is ${value}, it must be a whole number above 0`);
      }
    }
    const slots = numBlocks * blockSize;
    if (slots > maxSlots) throw new RangeError(`createKv: ${slots} slots are more than ${maxSlots}: use fewer blocks`);
    this.index = new Map(specs.map((spec, i) => [spec.name, i]));
    if (this.index.size !== specs.length) throw new RangeError('createKv: two tensors have the same name');
    for (const spec of specs) {
      if (!Number.isSafeInteger(spec.width) || spec.width < 1 || spec.width >= 2 ** 31) {
        throw new RangeError(
          `createKv: the width of "${spec.name}" is ${spec.width}, it must be a whole number above 0`,
        );
      }
      if (!dtypes.includes(spec.dtype)) {
        throw new RangeError(`createKv: the dtype of "${spec.name}" is ${spec.dtype}, it must be ${dtypes.join(', ')}`);
      }
    }
    this.bytes = specs.reduce((sum, spec) => sum + slots * spec.width * dtypeBytes[spec.dtype], 0);
    if (!Number.isSafeInteger(this.bytes)) throw new RangeError(`createKv: ${this.bytes} bytes cannot be addressed`);
    const names = specs.map((spec) => spec.name);
    const widths = Int32Array.from(specs, (spec) => spec.width);
    const kinds = Int32Array.from(specs, (spec) => dtypes.indexOf(spec.dtype));
    try {
      this.native = new addon.NativeKv(backend, names, widths, kinds, numBlocks, blockSize);
    } catch (error) {
      throw translateNativeError(error, { create: `createKv of ${this.bytes} bytes` });
    }
  }

  dispose(): void {
    this.native.dispose();
  }
}
