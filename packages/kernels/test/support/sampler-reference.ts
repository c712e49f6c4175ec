/** Parameters of one row by name; what is absent is off. */
export interface SampleRow {
  readonly temperature?: number;
  readonly topK?: number;
  readonly topP?: number;
  readonly minP?: number;
  readonly typicalP?: number;
  readonly topNSigma?: number;
  readonly xtcProbability?: number;
  readonly xtcThreshold?: number;
  readonly repetitionPenalty?: number;
  readonly frequencyPenalty?: number;
  readonly presencePenalty?: number;
  readonly seed?: bigint;
  readonly choice?: number;
  readonly index?: number;
  readonly logprobs?: number;
  readonly processedLogprobs?: boolean;
  /** id -> times in the output (0: only in the prompt). */
  readonly penalties?: ReadonlyMap<number, number>;
  readonly biases?: ReadonlyMap<number, number>;
}

const mask = 0xffffffffn;

/** Philox4x32-10 after the paper, in big integers. */
export function philox(counter: readonly bigint[], key: readonly bigint[]): bigint[] {
  let [a, b, c, d] = counter as [bigint, bigint, bigint, bigint];
  let [k0, k1] = key as [bigint, bigint];
  for (let round = 0; round < 10; round++) {
    const p = 0xd2511f53n * a;
    const q = 0xcd9e8d57n * c;
    [a, b, c, d] = [(q >> 32n) ^ b ^ k0, q & mask, (p >> 32n) ^ d ^ k1, p & mask];
    k0 = (k0 + 0x9e3779b9n) & mask;
    k1 = (k1 + 0xbb67ae85n) & mask;
  }
  return [a, b, c, d];
}

function word(row: SampleRow, block: number, stream: number, which: number): number {
  const seed = row.seed ?? 0n;
  const counter = [BigInt(block), BigInt(row.choice ?? 0), BigInt(row.index ?? 0), BigInt(stream)];
  const u = (Number(philox(counter, [seed & mask, (seed >> 32n) & mask])[which]!) + 0.5) * 2 ** -32;
  return u;
}

interface Candidate {
  readonly id: number;
  readonly z: number;
}

const byRank = (a: Candidate, b: Candidate) => b.z - a.z || a.id - b.id;

/** Weights relative to the best, and their sum. */
function masses(list: readonly Candidate[]): { e: number[]; total: number } {
  const most = Math.max(...list.map((c) => c.z));
  const e = list.map((c) => Math.exp(c.z - most));
  return { e, total: e.reduce((a, b) => a + b, 0) };
}

/** The chain of docs/numerics on one row of logits: the candidates left, by rank. */
export function candidates(logits: Float32Array, row: SampleRow): Candidate[] {
  const z = Float32Array.from(logits);
  row.biases?.forEach((bias, id) => (z[id] = z[id]! + bias));
  const repetition = Math.fround(row.repetitionPenalty ?? 1);
  row.penalties?.forEach((count, id) => {
    z[id] = z[id]! < 0 ? z[id]! * repetition : z[id]! / repetition;
    if (count > 0) {
      z[id] = z[id]! - Math.fround(count * Math.fround(row.frequencyPenalty ?? 0));
      z[id] = z[id]! - Math.fround(row.presencePenalty ?? 0);
    }
  });
  const t = Math.fround(row.temperature ?? 1);
  if (t > 0) z.forEach((v, i) => (z[i] = v / t));
  let list = [...z].map((v, id) => ({ id, z: v })).filter((c) => c.z > -Infinity);
  list = list.toSorted(byRank);
  if (t === 0 || list.length === 0) return list;
  if (row.topNSigma !== undefined && row.topNSigma > 0) {
    const mean = list.reduce((s, c) => s + c.z, 0) / list.length;
    const sigma = Math.sqrt(list.reduce((s, c) => s + (c.z - mean) ** 2, 0) / list.length);
    const least = list[0]!.z - Math.fround(row.topNSigma) * sigma;
    list = list.filter((c) => c.z >= least);
  }
  if (row.topK !== undefined && row.topK > 0 && row.topK < list.length) {
    const least = list[row.topK - 1]!.z;
    list = list.filter((c) => c.z >= least);
  }
  if (row.typicalP !== undefined && row.typicalP < 1) {
    const { e, total } = masses(list);
    const information = e.map((x) => -Math.log(x / total));
    const entropy = e.reduce((s, x, i) => s + (x / total) * information[i]!, 0);
    const order = list.map((c, i) => ({ c, i, d: Math.abs(information[i]! - entropy) })).toSorted((a, b) => a.d - b.d);
    let sum = 0;
    let last = order.findIndex((o) => (sum += e[o.i]! / total) >= Math.fround(row.typicalP!));
    if (last < 0) last = order.length - 1;
    const farthest = order[last]!.d;
    list = order
      .filter((o) => o.d <= farthest)
      .map((o) => o.c)
      .toSorted(byRank);
  }
  if (row.topP !== undefined && row.topP < 1) {
    const { e, total } = masses(list);
    let above = 0;
    list = list.filter((_, i) => {
      const keep = i === 0 || above < Math.fround(row.topP!) * total;
      above += e[i]!;
      return keep;
    });
  }
  if (row.minP !== undefined) {
    const { e } = masses(list);
    list = list.filter((_, i) => e[i]! >= Math.fround(row.minP!));
  }
  if (row.xtcProbability !== undefined && word(row, 0, 1, 0) < Math.fround(row.xtcProbability)) {
    const { e, total } = masses(list);
    const above = e.filter((x) => x / total >= Math.fround(row.xtcThreshold ?? 0.1)).length;
    if (above > 1) list = list.slice(above - 1);
  }
  return list;
}

/** The token that the chain and the Gumbel-max draw give. */
export function sampleReference(logits: Float32Array, row: SampleRow): number {
  const list = candidates(logits, row);
  if (row.temperature === 0) return list[0]!.id;
  let best = { id: -1, score: -Infinity };
  for (const c of list.toSorted((a, b) => a.id - b.id)) {
    const score = c.z - Math.log(-Math.log(word(row, c.id >> 2, 0, c.id & 3)));
    if (score > best.score) best = { id: c.id, score };
  }
  return best.id;
}
