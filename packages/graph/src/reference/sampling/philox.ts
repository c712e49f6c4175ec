// Constants of Philox4x32 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011).
const multiplier0 = 0xd2511f53;
const multiplier1 = 0xcd9e8d57;
const weyl0 = 0x9e3779b9;
const weyl1 = 0xbb67ae85;

/** Upper 32 bits of the product of two 32-bit words: by halves, so that every partial product is exact in a double. */
function mulHigh(a: number, b: number): number {
  const low = (a & 0xffff) * b;
  const high = (a >>> 16) * b;
  return Math.floor((high + Math.floor(low / 0x10000)) / 0x10000);
}

/**
 * Philox4x32-10: four uniform 32-bit words of a counter under a key.
 *
 * @param counter four 32-bit words
 * @param key two 32-bit words
 * @returns four words in 0 .. 2^32 - 1
 */
export function philox4x32(
  counter: readonly [number, number, number, number],
  key: readonly [number, number],
): [number, number, number, number] {
  let [c0, c1, c2, c3] = counter.map((w) => w >>> 0) as [number, number, number, number];
  let k0 = key[0] >>> 0;
  let k1 = key[1] >>> 0;
  for (let round = 0; round < 10; round++) {
    const high0 = mulHigh(multiplier0, c0);
    const high1 = mulHigh(multiplier1, c2);
    const low0 = Math.imul(multiplier0, c0) >>> 0;
    const low1 = Math.imul(multiplier1, c2) >>> 0;
    c0 = (high1 ^ c1 ^ k0) >>> 0;
    c1 = low1;
    c2 = (high0 ^ c3 ^ k1) >>> 0;
    c3 = low0;
    k0 = (k0 + weyl0) >>> 0;
    k1 = (k1 + weyl1) >>> 0;
  }
  return [c0, c1, c2, c3];
}

/** Where in a request's stream of random numbers a draw stands. */
export interface DrawPosition {
  /** Low and high words of the 64-bit seed. */
  readonly seedLow: number;
  readonly seedHigh: number;
  /** Index among the request's n choices. */
  readonly choice: number;
  /** Tokens generated before this one. */
  readonly index: number;
}

/** A word as a number in (0, 1). */
function unit(word: number): number {
  return (word + 0.5) * 2 ** -32;
}

/** Standard Gumbel noise of token `id`: -ln(-ln u), u from word id & 3 under counter (id >> 2, choice, index, 0). */
export function gumbel(at: DrawPosition, id: number): number {
  const words = philox4x32([id >> 2, at.choice, at.index, 0], [at.seedLow, at.seedHigh]);
  return -Math.log(-Math.log(unit(words[id & 3]!)));
}

/** The one number that decides whether XTC applies at this position: word 0 under counter (0, choice, index, 1), in (0, 1). */
export function xtcDraw(at: DrawPosition): number {
  return unit(philox4x32([0, at.choice, at.index, 1], [at.seedLow, at.seedHigh])[0]);
}
