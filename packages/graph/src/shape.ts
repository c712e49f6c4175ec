import type { Dim, DimSymbol, Shape } from '@dsi/kernels';

/** Symbols in the order that reports print them. */
export const dimSymbols: readonly DimSymbol[] = ['T', 'S', 'R', 'B'];

/** `[T, 8, 64]`. */
export function formatShape(shape: Shape): string {
  return `[${shape.join(', ')}]`;
}

/** Symbolic equality: `T` equals only `T`, whatever their maxima. */
export function sameShape(a: Shape, b: Shape): boolean {
  return a.length === b.length && a.every((d, i) => d === b[i]);
}

/** Product of the numbers of a shape, and its symbols sorted: equal for two shapes exactly when one can be a reshape of the other at any binding. */
function volume(shape: Shape): string {
  let n = 1;
  const symbols: string[] = [];
  for (const d of shape) {
    if (typeof d === 'number') n *= d;
    else symbols.push(d);
  }
  return `${n}*${symbols.toSorted().join('*')}`;
}

/** Whether both shapes hold the same number of elements under every binding of the symbols. */
export function sameVolume(a: Shape, b: Shape): boolean {
  return volume(a) === volume(b);
}

/** A size that a shape may have: a positive whole number or a symbol. */
export function isDim(d: unknown): d is Dim {
  if (typeof d === 'number') return Number.isSafeInteger(d) && d > 0;
  return d === 'S+1' || dimSymbols.includes(d as DimSymbol);
}

/** Product of the sizes when all are numbers, otherwise undefined. */
export function staticSize(shape: Shape): number | undefined {
  let n = 1;
  for (const d of shape) {
    if (typeof d !== 'number') return undefined;
    n *= d;
  }
  return n;
}
