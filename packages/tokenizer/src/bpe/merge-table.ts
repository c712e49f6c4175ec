const EMPTY = -1;

function hashPair(left: number, right: number): number {
  const h = Math.imul(left, 0x9e3779b1) ^ Math.imul(right, 0x85ebca6b);
  return h ^ (h >>> 15);
}

/**
 * Which two neighbouring tokens merge into which, and how early. An open-addressing table of integers:
 * four words a slot, `left, right, rank, merged`. Lower ranks merge first.
 */
export class MergeTable {
  /** The slots; replaced when the table grows, so read it anew after {@link add}. */
  slots: Int32Array;
  private mask: number;
  private used = 0;
  /** One bit for each hash, eight times as many as slots: most pairs that do not merge end here, in the cache. */
  private filter: Int32Array;
  private filterMask: number;

  /** @param capacity the expected number of merges */
  constructor(capacity: number) {
    let size = 16;
    while (size < capacity * 2) size *= 2;
    this.slots = new Int32Array(size * 4).fill(EMPTY);
    this.mask = size - 1;
    this.filter = new Int32Array(size / 4);
    this.filterMask = size * 8 - 1;
  }

  get size(): number {
    return this.used;
  }

  /** Adds a merge; a pair that is there already takes the new rank (as in the reference, where the last one counts). */
  add(left: number, right: number, rank: number, merged: number): void {
    if (this.used * 2 > this.mask) this.grow();
    const slots = this.slots;
    const hash = hashPair(left, right);
    const bit = hash & this.filterMask;
    this.filter[bit >>> 5]! |= 1 << (bit & 31);
    let i = hash & this.mask;
    for (;;) {
      const s = i << 2;
      if (slots[s] === EMPTY) {
        slots[s] = left;
        slots[s + 1] = right;
        this.used++;
      } else if (slots[s] !== left || slots[s + 1] !== right) {
        i = (i + 1) & this.mask;
        continue;
      }
      slots[s + 2] = rank;
      slots[s + 3] = merged;
      return;
    }
  }

  private grow(): void {
    const old = this.slots;
    this.slots = new Int32Array(old.length * 2).fill(EMPTY);
    this.mask = this.mask * 2 + 1;
    this.filter = new Int32Array(this.filter.length * 2);
    this.filterMask = this.filterMask * 2 + 1;
    this.used = 0;
    for (let s = 0; s < old.length; s += 4) {
      if (old[s] !== EMPTY) this.add(old[s]!, old[s + 1]!, old[s + 2]!, old[s + 3]!);
    }
  }

  /** Offset of the pair's slot in {@link slots}, or -1. */
  find(left: number, right: number): number {
    const hash = hashPair(left, right);
    const bit = hash & this.filterMask;
    if ((this.filter[bit >>> 5]! & (1 << (bit & 31))) === 0) return -1;
    const slots = this.slots;
    const mask = this.mask;
    let i = hash & mask;
    for (;;) {
      const s = i << 2;
      const l = slots[s]!;
      if (l === left && slots[s + 1] === right) return s;
      if (l === EMPTY) return -1;
      i = (i + 1) & mask;
    }
  }
}
