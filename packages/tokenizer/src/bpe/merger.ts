import type { MergeTable } from './merge-table.js';

const NEVER = 0x7fffffff;
/** Up to this many symbols a plain scan for the smallest rank beats the heap. */
const SCAN_LIMIT = 48;
/** Heap keys are `rank * POSITIONS + position`: exact in a double while rank < 2^22 and position < 2^31. */
const POSITIONS = 2 ** 31;

/**
 * Applies merges to a list of symbols, lowest rank first, leftmost first among equals.
 * Short lists take a scan, long ones a binary heap over a linked list: O(n log n).
 */
export class Merger {
  /** Symbols in, tokens out: write here before {@link merge}. Grown by {@link reserve}. */
  symbols = new Int32Array(1024);
  private ranks = new Int32Array(1024);
  private targets = new Int32Array(1024);
  private next = new Int32Array(0);
  private previous = new Int32Array(0);
  private heap = new Float64Array(0);
  private heapSize = 0;

  constructor(private readonly table: MergeTable) {}

  /** Makes room for `count` symbols, keeping those already written; large scratch is dropped by {@link release}. */
  reserve(count: number): void {
    if (this.symbols.length >= count) return;
    const size = Math.max(count, this.symbols.length * 2);
    const symbols = new Int32Array(size);
    symbols.set(this.symbols);
    this.symbols = symbols;
    this.ranks = new Int32Array(size);
    this.targets = new Int32Array(size);
  }

  /** Gives back scratch that one very long piece needed. */
  release(): void {
    if (this.symbols.length <= 1 << 16) return;
    this.symbols = new Int32Array(1024);
    this.ranks = new Int32Array(1024);
    this.targets = new Int32Array(1024);
    this.next = new Int32Array(0);
    this.previous = new Int32Array(0);
    this.heap = new Float64Array(0);
  }

  /** Merges `symbols[0, count)` in place and returns how many remain (at the front of {@link symbols}). */
  merge(count: number): number {
    if (count < 2) return count;
    return count <= SCAN_LIMIT ? this.mergeByScan(count) : this.mergeByHeap(count);
  }

  private mergeByScan(count: number): number {
    const { symbols, ranks, targets, table } = this;
    const slots = table.slots;
    let best = NEVER;
    let at = -1;
    for (let i = 0; i + 1 < count; i++) {
      const s = table.find(symbols[i]!, symbols[i + 1]!);
      if (s < 0) {
        ranks[i] = NEVER;
        continue;
      }
      const rank = slots[s + 2]!;
      ranks[i] = rank;
      targets[i] = slots[s + 3]!;
      if (rank < best) {
        best = rank;
        at = i;
      }
    }
    while (at >= 0) {
      symbols[at] = targets[at]!;
      count--;
      for (let i = at + 1; i < count; i++) {
        symbols[i] = symbols[i + 1]!;
        ranks[i] = ranks[i + 1]!;
        targets[i] = targets[i + 1]!;
      }
      if (at > 0) this.rankAt(at - 1);
      if (at + 1 < count) this.rankAt(at);
      best = NEVER;
      at = -1;
      for (let i = 0; i + 1 < count; i++) {
        if (ranks[i]! < best) {
          best = ranks[i]!;
          at = i;
        }
      }
    }
    return count;
  }

  private rankAt(i: number): void {
    const s = this.table.find(this.symbols[i]!, this.symbols[i + 1]!);
    if (s < 0) {
      this.ranks[i] = NEVER;
    } else {
      this.ranks[i] = this.table.slots[s + 2]!;
      this.targets[i] = this.table.slots[s + 3]!;
    }
  }

  private mergeByHeap(count: number): number {
    if (this.next.length < count) {
      this.next = new Int32Array(this.symbols.length);
      this.previous = new Int32Array(this.symbols.length);
      // Every merge takes one entry out and puts at most two in: count + merges < 2 * count entries at any time.
      this.heap = new Float64Array(this.symbols.length * 2);
    }
    const { symbols, ranks, targets, table, next, previous, heap } = this;
    const slots = table.slots;
    let size = 0;
    for (let i = 0; i < count; i++) {
      next[i] = i + 1;
      previous[i] = i - 1;
      ranks[i] = NEVER;
      if (i + 1 === count) break;
      const s = table.find(symbols[i]!, symbols[i + 1]!);
      if (s < 0) continue;
      ranks[i] = slots[s + 2]!;
      targets[i] = slots[s + 3]!;
      heap[size++] = ranks[i]! * POSITIONS + i;
    }
    this.heapSize = size;
    for (let i = (size >> 1) - 1; i >= 0; i--) this.siftDown(i, heap[i]!);
    while (this.heapSize > 0) {
      const key = heap[0]!;
      const rank = Math.floor(key / POSITIONS);
      const at = key - rank * POSITIONS;
      const last = heap[--this.heapSize]!;
      if (this.heapSize > 0) this.siftDown(0, last);
      if (ranks[at] !== rank) continue; // the pair changed since this entry was made
      const right = next[at]!;
      symbols[at] = targets[at]!;
      ranks[right] = NEVER;
      const after = next[right]!;
      next[at] = after;
      if (after < count) previous[after] = at;
      this.push(at, after < count ? after : -1);
      const before = previous[at]!;
      if (before >= 0) this.push(before, at);
    }
    let kept = 0;
    for (let i = 0; i < count; i = next[i]!) symbols[kept++] = symbols[i]!;
    return kept;
  }

  /** Sets the rank of the pair (left, right) and puts it on the heap; right < 0: nothing follows. */
  private push(left: number, right: number): void {
    const s = right < 0 ? -1 : this.table.find(this.symbols[left]!, this.symbols[right]!);
    if (s < 0) {
      this.ranks[left] = NEVER;
      return;
    }
    const rank = this.table.slots[s + 2]!;
    this.ranks[left] = rank;
    this.targets[left] = this.table.slots[s + 3]!;
    const key = rank * POSITIONS + left;
    const heap = this.heap;
    let i = this.heapSize++;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (heap[parent]! <= key) break;
      heap[i] = heap[parent]!;
      i = parent;
    }
    heap[i] = key;
  }

  private siftDown(i: number, key: number): void {
    const heap = this.heap;
    const size = this.heapSize;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= size) break;
      if (child + 1 < size && heap[child + 1]! < heap[child]!) child++;
      if (heap[child]! >= key) break;
      heap[i] = heap[child]!;
      i = child;
    }
    heap[i] = key;
  }
}
