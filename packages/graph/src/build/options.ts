import type { DimSymbol, Numerics } from '@dsi/kernels';
import { GraphError } from '../errors.js';
import { dimSymbols } from '../shape.js';

export interface GraphOptions {
  readonly numerics: Numerics;
  /** Largest value of every symbol: T tokens a step, S sequences, R logit rows, B blocks of a sequence. */
  readonly maxDims: Readonly<Record<DimSymbol, number>>;
  /** Token slots of a KV block. */
  readonly blockSize: number;
  /** Element type of KV tensors. Default: f32 in exact numerics, bf16 in fast. Exact numerics takes only f32. */
  readonly kvDtype?: 'f32' | 'f16' | 'bf16';
}

/** @throws GraphError naming the option */
export function checkOptions(name: string, o: GraphOptions): Required<GraphOptions> {
  const fail = (option: string, expected: string, actual: unknown): never => {
    throw new GraphError(`Graph "${name}": ${option} must be ${expected}, but is ${String(actual)}.`, {
      operand: option,
      expected,
      actual: String(actual),
    });
  };
  if (o.numerics !== 'exact' && o.numerics !== 'fast') fail('numerics', 'exact or fast', o.numerics);
  for (const s of dimSymbols) {
    const n = o.maxDims[s];
    if (!Number.isSafeInteger(n) || n < 1) fail(`maxDims.${s}`, 'a positive whole number', n);
  }
  if (!Number.isSafeInteger(o.blockSize) || o.blockSize < 1) fail('blockSize', 'a positive whole number', o.blockSize);
  const kvDtype = o.kvDtype ?? (o.numerics === 'exact' ? 'f32' : 'bf16');
  if (!['f32', 'f16', 'bf16'].includes(kvDtype)) fail('kvDtype', 'f32, f16 or bf16', kvDtype);
  if (o.numerics === 'exact' && kvDtype !== 'f32') fail('kvDtype', 'f32 in exact numerics', kvDtype);
  return { numerics: o.numerics, maxDims: { ...o.maxDims }, blockSize: o.blockSize, kvDtype };
}
