import { clamp, nearest } from './encoder.js';

// Searches for the scale (and minimum) of one block that give the least weighted squared error. All try a number of
// divisors around the obvious one, and for each rounding solve the least-squares problem for the scale in closed form.

/** Below this magnitude a block counts as zeros. */
const tiny = 1e-15;

/**
 * Symmetric codes -limit .. limit - 1. For codes l the best scale is s = sum(w x l) / sum(w l^2), and the error falls
 * by sum(w x l)^2 / sum(w l^2): the search maximises that.
 *
 * @param values block at [start, start + count)
 * @param weights [count]
 * @returns the scale; 0 for a block of zeros. Its sign is such that the largest magnitude gets the code -limit.
 */
export function searchSymmetric(
  values: ArrayLike<number>,
  start: number,
  count: number,
  limit: number,
  weights: ArrayLike<number>,
): number {
  let extreme = 0;
  for (let i = 0; i < count; i++) {
    const v = values[start + i]!;
    if (Math.abs(v) > Math.abs(extreme)) extreme = v;
  }
  if (Math.abs(extreme) < tiny) return 0;
  let best = 0;
  let scale = 0;
  for (let step = -9; step <= 9; step++) {
    const inverse = -(limit + 0.1 * step) / extreme;
    let wxl = 0;
    let wll = 0;
    for (let i = 0; i < count; i++) {
      const v = values[start + i]!;
      const l = clamp(nearest(inverse * v), -limit, limit - 1);
      const wl = weights[i]! * l;
      wxl += wl * v;
      wll += wl * l;
    }
    if (wll > 0 && wxl * wxl > best * wll) {
      scale = wxl / wll;
      best = scale * wxl;
    }
  }
  return scale;
}

/**
 * Like `searchSymmetric`, for small code ranges: starts from one rounding and moves single codes as long as that helps
 * (at most five rounds).
 */
export function descendSymmetric(
  values: ArrayLike<number>,
  start: number,
  count: number,
  limit: number,
  weights: ArrayLike<number>,
  codes: Int8Array,
): number {
  let extreme = 0;
  for (let i = 0; i < count; i++) {
    const v = values[start + i]!;
    if (Math.abs(v) > Math.abs(extreme)) extreme = v;
  }
  if (Math.abs(extreme) < tiny) return 0;
  const inverse = -limit / extreme;
  for (let i = 0; i < count; i++) codes[i] = clamp(nearest(inverse * values[start + i]!), -limit, limit - 1);
  return descend(values, start, count, -limit, limit - 1, weights, codes);
}

/** Coordinate descent over codes; returns the best scale for the codes it ends with. */
function descend(
  values: ArrayLike<number>,
  start: number,
  count: number,
  low: number,
  high: number,
  weights: ArrayLike<number>,
  codes: Int8Array,
): number {
  let wxl = 0;
  let wll = 0;
  for (let i = 0; i < count; i++) {
    const l = codes[i]!;
    wxl += weights[i]! * values[start + i]! * l;
    wll += weights[i]! * l * l;
  }
  for (let round = 0; round < 5; round++) {
    let changed = false;
    for (let i = 0; i < count; i++) {
      const w = weights[i]!;
      const v = values[start + i]!;
      const l = codes[i]!;
      const restXl = wxl - w * v * l;
      const restLl = wll - w * l * l;
      if (restXl <= 0 || restLl <= 0) continue;
      const moved = clamp(nearest((v * restLl) / restXl), low, high);
      if (moved === l) continue;
      const nextXl = restXl + w * v * moved;
      const nextLl = restLl + w * moved * moved;
      if (nextLl > 0 && nextXl * nextXl * wll > wxl * wxl * nextLl) {
        codes[i] = moved;
        wxl = nextXl;
        wll = nextLl;
        changed = true;
      }
    }
    if (!changed) break;
  }
  return wll > 0 ? wxl / wll : 0;
}

/**
 * Codes 0 .. limit for values that are not negative (the scales of a super-block): best of nine divisors, then
 * coordinate descent. Writes the codes and returns the scale.
 */
export function searchPositive(
  values: ArrayLike<number>,
  count: number,
  limit: number,
  weights: ArrayLike<number>,
  codes: Int8Array,
): number {
  let max = 0;
  for (let i = 0; i < count; i++) max = Math.max(max, values[i]!);
  if (max < tiny) {
    codes.fill(0, 0, count);
    return 0;
  }
  let bestError = Infinity;
  let bestInverse = limit / max;
  for (let step = -4; step <= 4; step++) {
    const inverse = (limit + 0.1 * step) / max;
    const scale = 1 / inverse;
    let error = 0;
    for (let i = 0; i < count; i++) {
      const difference = values[i]! - scale * Math.min(limit, nearest(inverse * values[i]!));
      error += weights[i]! * difference * difference;
    }
    if (error < bestError) {
      bestError = error;
      bestInverse = inverse;
    }
  }
  for (let i = 0; i < count; i++) codes[i] = Math.min(limit, nearest(bestInverse * values[i]!));
  return descend(values, 0, count, 0, limit, weights, codes);
}

/** Which divisors `searchAffine` tries: limit + first + step * increment, for steps + 1 values of step. */
export interface AffineSteps {
  readonly first: number;
  readonly increment: number;
  readonly steps: number;
  /** Compare absolute instead of squared differences. */
  readonly absolute: boolean;
}

const codeScratch = new Float64Array(32);

/**
 * Codes 0 .. limit with value = scale * code - minimum and minimum >= 0.
 *
 * @param result receives [scale, minimum]
 */
export function searchAffine(
  values: ArrayLike<number>,
  start: number,
  count: number,
  limit: number,
  weights: ArrayLike<number>,
  options: AffineSteps,
  result: Float64Array,
): void {
  let low = values[start]!;
  let high = low;
  let sumW = 0;
  let sumX = 0;
  for (let i = 0; i < count; i++) {
    const v = values[start + i]!;
    if (v < low) low = v;
    if (v > high) high = v;
    sumW += weights[i]!;
    sumX += weights[i]! * v;
  }
  if (low > 0) low = 0;
  if (high <= low) {
    result[0] = 0;
    result[1] = -low;
    return;
  }
  let bestScale = (high - low) / limit;
  let bestError = Infinity;
  // Step -1 is the plain mapping of [low, high]; the others refit scale and minimum to their rounding. The best
  // minimum so far is the base of the next step's rounding.
  for (let step = -1; step <= options.steps; step++) {
    const inverse = (limit + (step < 0 ? 0 : options.first + options.increment * step)) / (high - low);
    let sumL = 0;
    let sumLl = 0;
    let sumXl = 0;
    for (let i = 0; i < count; i++) {
      const v = values[start + i]!;
      const l = clamp(nearest(inverse * (v - low)), 0, limit);
      codeScratch[i] = l;
      const wl = weights[i]! * l;
      sumL += wl;
      sumLl += wl * l;
      sumXl += wl * v;
    }
    let scale = bestScale;
    let offset = low;
    if (step >= 0) {
      const determinant = sumW * sumLl - sumL * sumL;
      if (!(determinant > 0)) continue;
      scale = (sumW * sumXl - sumX * sumL) / determinant;
      offset = (sumLl * sumX - sumL * sumXl) / determinant;
      if (offset > 0) {
        offset = 0;
        scale = sumXl / sumLl;
      }
    }
    let error = 0;
    for (let i = 0; i < count; i++) {
      const difference = scale * codeScratch[i]! + offset - values[start + i]!;
      error += weights[i]! * (options.absolute ? Math.abs(difference) : difference * difference);
    }
    if (error < bestError) {
      bestError = error;
      bestScale = scale;
      low = offset;
    }
  }
  result[0] = bestScale;
  result[1] = -low;
}
