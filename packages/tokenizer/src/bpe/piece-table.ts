/** Hash of the code units of a piece, the one that {@link PieceTable} and the word cache share. */
export function hashPiece(units: Uint16Array, start: number, end: number): number {
  let h = end - start;
  for (let i = start; i < end; i++) h = Math.imul(h ^ units[i]!, 0x01000193);
  return h ^ (h >>> 15);
}

/** From the code units of a piece to an id: open addressing over one arena of code units. Grows as needed. */
export class PieceTable {
  private slots = new Int32Array(2048); // pairs: hash, entry + 1
  private mask = 1023;
  private ends = new Uint32Array(512); // ends[e + 1] is the end of entry e in the arena
  private entryIds = new Uint32Array(512);
  private arena = new Uint16Array(4096);
  private count = 0;

  /** @param capacity the expected number of entries */
  constructor(capacity = 0) {
    if (capacity <= 512) return;
    let size = 1024;
    while (size < capacity * 2) size *= 2;
    this.slots = new Int32Array(size * 2);
    this.mask = size - 1;
    this.ends = new Uint32Array(capacity + 1);
    this.entryIds = new Uint32Array(capacity);
    this.arena = new Uint16Array(capacity * 8);
  }

  get size(): number {
    return this.count;
  }

  /** Adds a piece, `units[start, end)`. Of two equal pieces the first is found. */
  add(units: Uint16Array, start: number, end: number, id: number): void {
    const entry = this.count;
    if (entry + 1 >= this.ends.length) {
      this.ends = grown(this.ends, this.ends.length * 2);
      this.entryIds = grown(this.entryIds, this.ends.length);
    }
    if (entry * 2 > this.mask) this.rehash();
    const from = this.ends[entry]!;
    const to = from + end - start;
    if (to > this.arena.length) {
      const arena = new Uint16Array(to * 2);
      arena.set(this.arena);
      this.arena = arena;
    }
    for (let i = start; i < end; i++) this.arena[from + i - start] = units[i]!;
    this.ends[entry + 1] = to;
    this.entryIds[entry] = id;
    this.count++;
    this.place(hashPiece(units, start, end), entry + 1);
  }

  private place(hash: number, value: number): void {
    const { slots, mask } = this;
    let i = hash & mask;
    while (slots[2 * i + 1] !== 0) i = (i + 1) & mask;
    slots[2 * i] = hash;
    slots[2 * i + 1] = value;
  }

  private rehash(): void {
    const old = this.slots;
    this.mask = this.mask * 2 + 1;
    this.slots = new Int32Array((this.mask + 1) * 2);
    for (let s = 0; s < old.length; s += 2) if (old[s + 1] !== 0) this.place(old[s]!, old[s + 1]!);
  }

  /** The id of the piece `units[start, end)`, or -1. `hash` is {@link hashPiece} of it. */
  find(hash: number, units: Uint16Array, start: number, end: number): number {
    const slots = this.slots;
    let i = hash & this.mask;
    probe: for (; ; i = (i + 1) & this.mask) {
      const entry = slots[2 * i + 1]! - 1;
      if (entry < 0) return -1;
      if (slots[2 * i] !== hash) continue;
      const from = this.ends[entry]!;
      if (this.ends[entry + 1]! - from !== end - start) continue;
      const shift = from - start;
      for (let k = start; k < end; k++) if (this.arena[k + shift] !== units[k]) continue probe;
      return this.entryIds[entry]!;
    }
  }
}

function grown(array: Uint32Array, length: number): Uint32Array<ArrayBuffer> {
  const result = new Uint32Array(length);
  result.set(array);
  return result;
}
