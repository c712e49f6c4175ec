import type { HostArray } from '@dsi/kernels';

/** A backend's result that is not what the reference gives. */
export class ConformanceError extends Error {
  override readonly name = 'ConformanceError';
}

function same(what: string, a: HostArray, b: HostArray): void {
  if (a.length !== b.length || a.constructor !== b.constructor)
    throw new ConformanceError(
      `${what}: ${a.constructor.name} of ${a.length}, expected ${b.constructor.name} of ${b.length}.`,
    );
}

/** Equal bits in every element (0 and -0 differ; any NaN equals any NaN). */
export function expectBits(what: string, actual: HostArray, expected: HostArray): void {
  same(what, actual, expected);
  const at = actual.findIndex((v, i) => !Object.is(v, expected[i]));
  if (at >= 0)
    throw new ConformanceError(
      `${what}: element ${at} of ${actual.length} is ${actual[at]}, expected the bits of ${expected[at]}.`,
    );
}

/** |actual - expected| <= bound(i) in every element; NaN fits only NaN. Names the element that is furthest beyond. */
export function expectClose(
  what: string,
  actual: HostArray,
  expected: HostArray,
  bound: (index: number) => number,
): void {
  same(what, actual, expected);
  let worst = -1;
  let worstRatio = 1;
  actual.forEach((v, i) => {
    if (Object.is(v, expected[i])) return;
    const ratio = Math.abs(v - expected[i]!) / bound(i);
    if (!(ratio <= worstRatio)) {
      worst = i;
      worstRatio = Number.isNaN(ratio) ? Infinity : ratio;
    }
  });
  if (worst >= 0)
    throw new ConformanceError(
      `${what}: element ${worst} of ${actual.length} is ${actual[worst]}, expected ${expected[worst]} within ${bound(worst)} (${worstRatio.toFixed(2)} times the bound).`,
    );
}

/** Bound relative to the largest magnitude of the element's row of `width`, at least `floor`. */
export function rowRelative(
  expected: HostArray,
  width: number,
  relative: number,
  floor: number,
): (i: number) => number {
  const largest: number[] = [];
  for (let at = 0; at < expected.length; at += width)
    largest.push(Array.from(expected.subarray(at, at + width)).reduce((m, v) => Math.max(m, Math.abs(v)), floor));
  return (i) => relative * largest[Math.floor(i / width)]!;
}
