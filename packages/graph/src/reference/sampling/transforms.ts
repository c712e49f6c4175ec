/**
 * The sampler's transforms, each alone. All of them change `logits` in place, rounding to its element type once an assignment;
 * probabilities and sums are float64. -Infinity means dropped. None drops the last token that is left.
 */

/** One value a token id. */
export type Logits = Float32Array | Float64Array;

function maximum(values: Logits): number {
  let max = -Infinity;
  for (const v of values) max = Math.max(max, v);
  return max;
}

/** Softmax; dropped tokens get 0. All zeros when everything is dropped. */
export function softmax(logits: Logits): Float64Array {
  const max = maximum(logits);
  if (max === -Infinity) return new Float64Array(logits.length);
  const exps = Float64Array.from(logits, (v) => Math.exp(v - max));
  const sum = exps.reduce((a, b) => a + b, 0);
  return exps.map((v) => v / sum);
}

/** Kept ids from the largest value to the smallest, ties by ascending id. */
function descending(values: Logits, ids: readonly number[]): number[] {
  return ids.toSorted((a, b) => values[b]! - values[a]! || a - b);
}

function kept(logits: Logits): number[] {
  const ids: number[] = [];
  logits.forEach((v, id) => {
    if (v > -Infinity) ids.push(id);
  });
  return ids;
}

/** Adds values[i] to the logit of ids[i]; -Infinity bans. Ids may repeat. */
export function bias(logits: Logits, ids: Int32Array, values: Float32Array): void {
  ids.forEach((id, i) => {
    logits[id] = logits[id]! + values[i]!;
  });
}

/** Negative logits are multiplied, others divided, once an id (CTRL, Keskar et al. 2019). `ids` are distinct. */
export function repetitionPenalty(logits: Logits, ids: Int32Array, penalty: number): void {
  for (const id of ids) {
    const v = logits[id]!;
    logits[id] = v < 0 ? v * penalty : v / penalty;
  }
}

/** logit - count * frequency - (count > 0) * presence. `ids` are distinct. */
export function frequencyPresence(
  logits: Logits,
  ids: Int32Array,
  counts: Int32Array,
  frequency: number,
  presence: number,
): void {
  ids.forEach((id, i) => {
    const count = counts[i]!;
    if (count === 0) return;
    logits[id] = logits[id]! - count * frequency;
    logits[id] = logits[id]! - presence;
  });
}

export function temperature(logits: Logits, t: number): void {
  for (let i = 0; i < logits.length; i++) logits[i] = logits[i]! / t;
}

/** Drops logits below max - n * (population standard deviation of the kept logits) (Tang et al. 2024). n <= 0 keeps all. */
export function topNSigma(logits: Logits, n: number): void {
  if (n <= 0) return;
  const ids = kept(logits);
  const mean = ids.reduce((s, id) => s + logits[id]!, 0) / ids.length;
  const variance = ids.reduce((s, id) => s + (logits[id]! - mean) ** 2, 0) / ids.length;
  const limit = maximum(logits) - n * Math.sqrt(variance);
  for (const id of ids) if (logits[id]! < limit) logits[id] = -Infinity;
}

/** Keeps the k largest and every tie with the k-th. k <= 0 or >= the number of tokens keeps all. */
export function topK(logits: Logits, k: number): void {
  if (k <= 0 || k >= logits.length) return;
  const limit = logits.toSorted((a, b) => b - a)[k - 1]!;
  for (let i = 0; i < logits.length; i++) if (logits[i]! < limit) logits[i] = -Infinity;
}

/** Keeps the tokens whose surprise is nearest to the entropy until their probabilities reach `mass`, and ties with the last of them (Meister et al. 2022). Mass <= 0 or >= 1 keeps all. */
export function typicalP(logits: Logits, mass: number): void {
  if (mass <= 0 || mass >= 1) return;
  const probabilities = softmax(logits);
  const ids = kept(logits);
  const entropy = ids.reduce(
    (s, id) => (probabilities[id]! > 0 ? s - probabilities[id]! * Math.log(probabilities[id]!) : s),
    0,
  );
  const distance = probabilities.map((p) => Math.abs(-Math.log(p) - entropy));
  const order = ids.toSorted((a, b) => distance[a]! - distance[b]! || a - b);
  let sum = 0;
  let last = 0;
  for (; last < order.length - 1; last++) {
    sum += probabilities[order[last]!]!;
    if (sum >= mass) break;
  }
  const limit = distance[order[last]!]!;
  for (const id of ids) if (distance[id]! > limit) logits[id] = -Infinity;
}

/** Drops the tail, ascending, whose cumulative probability is <= 1 - p; the token that crosses stays (Holtzman et al. 2019). p >= 1 keeps all. */
export function topP(logits: Logits, p: number): void {
  if (p >= 1) return;
  const probabilities = softmax(logits);
  const ascending = descending(logits, kept(logits)).toReversed();
  let mass = 0;
  for (const id of ascending.slice(0, -1)) {
    mass += probabilities[id]!;
    if (mass > 1 - p) break;
    logits[id] = -Infinity;
  }
}

/** Drops probabilities below p times the largest. p <= 0 keeps all. */
export function minP(logits: Logits, p: number): void {
  if (p <= 0) return;
  const probabilities = softmax(logits);
  const limit = p * maximum(probabilities);
  for (let i = 0; i < logits.length; i++) if (probabilities[i]! < limit) logits[i] = -Infinity;
}

/** Exclude top choices: of the tokens with probability >= threshold only the least probable stays (of equals, the highest id). */
export function xtc(logits: Logits, threshold: number): void {
  const probabilities = softmax(logits);
  const top = kept(logits).filter((id) => probabilities[id]! >= threshold);
  if (top.length < 2) return;
  const stays = top.reduce((a, b) => (probabilities[b]! <= probabilities[a]! ? b : a));
  for (const id of top) if (id !== stays) logits[id] = -Infinity;
}

/** The id of the largest value, ties to the lowest id; -1 when everything is dropped. */
export function argmax(values: Logits): number {
  let best = -1;
  values.forEach((v, id) => {
    if (v > -Infinity && (best < 0 || v > values[best]!)) best = id;
  });
  return best;
}
