const SLOTS = 1 << 14;
const MAX_UNITS = 16;
const MAX_IDS = 8;

/**
 * A bounded cache from short pieces to their ids: direct-mapped, a new piece replaces what was in its slot.
 * 16 units of key and 8 ids a slot; nothing is allocated after construction.
 */
export class WordCache {
  private readonly keys = new Uint16Array(SLOTS * MAX_UNITS);
  private readonly keyLengths = new Uint8Array(SLOTS);
  private readonly values = new Uint32Array(SLOTS * MAX_IDS);
  private readonly valueLengths = new Uint8Array(SLOTS);

  /** Copies the cached ids of the piece to `out` at `at` and returns their number, or -1 when it is not cached. */
  read(hash: number, units: Uint16Array, start: number, length: number, out: Uint32Array, at: number): number {
    const slot = hash & (SLOTS - 1);
    if (this.keyLengths[slot] !== length) return -1;
    const keys = this.keys;
    const base = slot * MAX_UNITS;
    for (let i = 0; i < length; i++) if (keys[base + i] !== units[start + i]) return -1;
    const count = this.valueLengths[slot]!;
    const from = slot * MAX_IDS;
    for (let i = 0; i < count; i++) out[at + i] = this.values[from + i]!;
    return count;
  }

  /** Remembers `symbols[0, count)` for the piece, unless one of them is too long for a slot. */
  write(hash: number, units: Uint16Array, start: number, length: number, symbols: Int32Array, count: number): void {
    if (length > MAX_UNITS || count > MAX_IDS) return;
    const slot = hash & (SLOTS - 1);
    this.keyLengths[slot] = length;
    const base = slot * MAX_UNITS;
    for (let i = 0; i < length; i++) this.keys[base + i] = units[start + i]!;
    this.valueLengths[slot] = count;
    const from = slot * MAX_IDS;
    for (let i = 0; i < count; i++) this.values[from + i] = symbols[i]!;
  }
}
