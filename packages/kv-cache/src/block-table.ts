/** Growable list of block ids. Growing doubles the backing array, so a step in steady state allocates nothing. */
export class BlockTable {
  /** Backing array; only the first `length` entries count. Replaced when it grows. */
  blocks: Int32Array;
  length = 0;

  constructor(capacity = 8) {
    this.blocks = new Int32Array(capacity);
  }

  push(block: number): void {
    if (this.length === this.blocks.length) this.reserve(this.length + 1);
    this.blocks[this.length++] = block;
  }

  /** Makes room for `capacity` entries in all; `length` stays. */
  reserve(capacity: number): void {
    if (capacity <= this.blocks.length) return;
    const grown = new Int32Array(Math.max(capacity, 2 * this.blocks.length));
    grown.set(this.blocks.subarray(0, this.length));
    this.blocks = grown;
  }
}
