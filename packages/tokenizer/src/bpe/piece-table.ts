/** Hash of the code units of a piece, the one that {@link PieceTable} and the word cache share. */
export function hashPiece(units: Uint16Array, start: number, end: number): number {
  let h = end - start;
  for (let i = start; i < end; i++) h = Math.imul(h ^ units[i]!, 0x01000193);
  return h ^ (h >>> 15);
}

/** From the code units of a piece to the id of the token with exactly that text. */
export class PieceTable {
  private readonly slots: Int32Array; // pairs: hash, entry + 1
  private readonly mask: number;
  private readonly offsets: Uint32Array;
  private readonly entryIds: Uint32Array;
  private arena: Uint16Array;
  private count = 0;
  private arenaLength = 0;

  /** @param capacity the number of tokens that will be added at most */
  constructor(capacity: number) {
    let size = 16;
    while (size < capacity * 2) size *= 2;
    this.slots = new Int32Array(size * 2);
    this.mask = size - 1;
    this.offsets = new Uint32Array(capacity + 1);
    this.entryIds = new Uint32Array(capacity);
    this.arena = new Uint16Array(Math.max(64, capacity * 8));
  }

  /** Adds a token; `units[start, end)` is its text. */
  add(units: Uint16Array, start: number, end: number, id: number): void {
    const length = end - start;
    if (this.arenaLength + length > this.arena.length) {
      const grown = new Uint16Array((this.arenaLength + length) * 2);
      grown.set(this.arena.subarray(0, this.arenaLength));
      this.arena = grown;
    }
    for (let i = 0; i < length; i++) this.arena[this.arenaLength + i] = units[start + i]!;
    this.arenaLength += length;
    const entry = this.count++;
    this.entryIds[entry] = id;
    this.offsets[entry + 1] = this.arenaLength;
    const hash = hashPiece(units, start, end);
    let i = hash & this.mask;
    while (this.slots[2 * i + 1] !== 0) i = (i + 1) & this.mask;
    this.slots[2 * i] = hash;
    this.slots[2 * i + 1] = entry + 1;
  }

  /** The id of the token whose text is `units[start, end)`, or -1. `hash` is {@link hashPiece} of it. */
  find(hash: number, units: Uint16Array, start: number, end: number): number {
    const slots = this.slots;
    let i = hash & this.mask;
    probe: for (; ; i = (i + 1) & this.mask) {
      const entry = slots[2 * i + 1]! - 1;
      if (entry < 0) return -1;
      if (slots[2 * i] !== hash) continue;
      const from = this.offsets[entry]!;
      if (this.offsets[entry + 1]! - from !== end - start) continue;
      const shift = from - start;
      for (let k = start; k < end; k++) if (this.arena[k + shift] !== units[k]) continue probe;
      return this.entryIds[entry]!;
    }
  }
}
