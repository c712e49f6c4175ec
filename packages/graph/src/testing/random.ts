/** A small seeded generator (mulberry32): the same seed gives the same case on every machine. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** In [0, 1). */
  unit(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Whole, in low .. high (both included). */
  int(low: number, high: number): number {
    return low + Math.floor(this.unit() * (high - low + 1));
  }

  /** Standard normal (Box-Muller). */
  normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.unit())) * Math.cos(2 * Math.PI * this.unit());
  }

  /** `n` normal numbers of standard deviation `sigma`, with now and then an outlier of ten times that. */
  activations(n: number, sigma = 1): Float32Array {
    return Float32Array.from({ length: n }, () => this.normal() * sigma * (this.unit() < 0.01 ? 10 : 1));
  }

  normals(n: number, sigma = 1): Float32Array {
    return Float32Array.from({ length: n }, () => this.normal() * sigma);
  }

  ints(n: number, low: number, high: number): Int32Array {
    return Int32Array.from({ length: n }, () => this.int(low, high));
  }

  bytes(n: number): Uint8Array {
    return Uint8Array.from({ length: n }, () => this.int(0, 255));
  }

  /** A random order of 0 .. n-1. */
  permutation(n: number): Int32Array {
    const order = Int32Array.from({ length: n }, (_, i) => i);
    for (let i = n - 1; i > 0; i--) {
      const j = this.int(0, i);
      [order[i], order[j]] = [order[j]!, order[i]!];
    }
    return order;
  }
}
