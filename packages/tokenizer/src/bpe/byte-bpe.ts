import { sliceEntries, type Slices } from '../slices.js';
import { writeUtf8 } from '../unicode/utf16.js';
import type { Scanner } from '../scanners/scanner.js';
import { UNIT_TO_BYTE } from './byte-alphabet.js';
import type { IdSink } from './id-sink.js';
import type { MergeTable } from './merge-table.js';
import { Merger } from './merger.js';
import { hashPiece, PieceTable } from './piece-table.js';
import { WordCache } from './word-cache.js';

const UNKNOWN = 0;
const WHOLE = 1;
const COMPOSED = 2;
const UNSEEN = -2;
const NOT_ONE_TOKEN = -1;
const MAX_RANK = 0x7fffffff;

/** What a byte-level BPE needs; token strings are spelled in GPT-2's byte alphabet. */
export interface ByteBpeOptions {
  /** Token string of every id of the model's vocabulary; holes are undefined. */
  readonly tokens: readonly (string | undefined)[];
  readonly merges: MergeTable;
  /** A piece that is a token as a whole is that token, whatever the merges say. */
  readonly ignoreMerges: boolean;
  /** Id for bytes that the vocabulary lacks; undefined drops them. */
  readonly unknownId?: number | undefined;
  /** Merge adjacent unknown symbols into one. */
  readonly fuseUnknown?: boolean | undefined;
}

/** Byte-level byte-pair encoding of pieces given as UTF-16 code units. */
export class ByteBpe {
  private readonly merger: Merger;
  private readonly pieces: PieceTable;
  private readonly cache = new WordCache();
  private readonly byteIds = new Int32Array(256).fill(-1);
  /** For each id: whether merging its bytes gives back the one token. Filled on demand. */
  private readonly wholeness: Uint8Array;
  private readonly ignoreMerges: boolean;
  private readonly unknownId: number;
  private readonly fuseUnknown: boolean;
  /** The token of each character of the basic plane when its bytes always merge first; filled on demand. */
  private readonly characterIds = new Int32Array(0x10000).fill(UNSEEN);
  private crossing: CrossingRanks | undefined;
  private bytes = new Uint8Array(4096);

  /** Reads the vocabulary in slices. */
  static *create(options: ByteBpeOptions): Slices<ByteBpe> {
    const bpe = new ByteBpe(options);
    yield* bpe.addTokens(options.tokens);
    return bpe;
  }

  private constructor(private readonly options: ByteBpeOptions) {
    const { tokens, merges } = options;
    this.merger = new Merger(merges);
    this.ignoreMerges = options.ignoreMerges;
    this.unknownId = options.unknownId ?? -1;
    this.fuseUnknown = options.fuseUnknown === true;
    this.wholeness = new Uint8Array(tokens.length);
    this.pieces = new PieceTable(tokens.length);
  }

  private *addTokens(tokens: ByteBpeOptions['tokens']): Slices<void> {
    const decoder = new TokenDecoder();
    for (let id = 0; id < tokens.length; id++) {
      if (id % sliceEntries === 0) yield;
      const token = tokens[id];
      if (token === undefined) continue;
      if (token.length === 1) {
        const unit = token.charCodeAt(0);
        const byte = unit < 512 ? UNIT_TO_BYTE[unit]! : -1;
        if (byte >= 0) this.byteIds[byte] = id;
      }
      const length = decoder.decode(token);
      if (length > 0) this.pieces.add(decoder.units, 0, length, id);
    }
  }

  /** Appends the ids of `units[start, end)`, cut by `scanner`, to `sink`. */
  encode(units: Uint16Array, start: number, end: number, scanner: Scanner, sink: IdSink): void {
    while (start < end) {
      const stop = scanner.next(units, start, end);
      this.encodePiece(units, start, stop, sink);
      start = stop;
    }
  }

  /** Appends the ids of the one piece `units[start, end)` to `sink`. */
  encodePiece(units: Uint16Array, start: number, end: number, sink: IdSink): void {
    const length = end - start;
    const hash = hashPiece(units, start, end);
    const id = this.pieces.find(hash, units, start, end);
    if (id >= 0) {
      const state = this.wholeness[id]!;
      if (state === WHOLE || this.ignoreMerges) {
        sink.push(id);
        return;
      }
    }
    sink.reserve(length * 3);
    if (length <= 16) {
      const cached = this.cache.read(hash, units, start, length, sink.ids, sink.length);
      if (cached >= 0) {
        sink.length += cached;
        return;
      }
    }
    const merger = this.merger;
    const count = merger.merge(this.symbolise(units, start, end));
    const symbols = merger.symbols;
    if (id >= 0 && this.wholeness[id] === UNKNOWN) {
      this.wholeness[id] = count === 1 && symbols[0] === id ? WHOLE : COMPOSED;
    }
    const ids = sink.ids;
    const at = sink.length;
    for (let i = 0; i < count; i++) ids[at + i] = symbols[i]!;
    sink.length = at + count;
    if (length <= 16) this.cache.write(hash, units, start, length, symbols, count);
    else if (length > 1 << 15) this.releaseScratch();
  }

  private releaseScratch(): void {
    this.merger.release();
    if (this.bytes.length > 1 << 17) this.bytes = new Uint8Array(4096);
  }

  /** Writes the first symbols of a piece to the merger: bytes, or whole characters where that makes no difference. */
  private symbolise(units: Uint16Array, start: number, end: number): number {
    const merger = this.merger;
    merger.reserve((end - start) * 3);
    const symbols = merger.symbols;
    const byteIds = this.byteIds;
    let count = 0;
    for (let i = start; i < end; i++) {
      const unit = units[i]!;
      if (unit < 0x80) {
        const id = byteIds[unit]!;
        if (id >= 0) symbols[count++] = id;
        else count = this.unknown(count);
        continue;
      }
      const surrogate = (unit & 0xf800) === 0xd800;
      if (!surrogate) {
        let id = this.characterIds[unit]!;
        if (id === UNSEEN) id = this.characterId(unit);
        if (id >= 0) {
          symbols[count++] = id;
          continue;
        }
      }
      const length = writeUtf8(units, i, surrogate ? i + 2 : i + 1, this.bytes, 0);
      if (surrogate) i++;
      for (let k = 0; k < length; k++) {
        const id = byteIds[this.bytes[k]!]!;
        if (id >= 0) symbols[count++] = id;
        else count = this.unknown(count);
      }
    }
    return count;
  }

  private unknown(count: number): number {
    if (this.unknownId < 0) return count;
    const symbols = this.merger.symbols;
    if (this.fuseUnknown && count > 0 && symbols[count - 1] === this.unknownId) return count;
    symbols[count] = this.unknownId;
    return count + 1;
  }

  /**
   * The token that the bytes of `unit` merge into, if they do so before any of them can merge with a neighbour.
   * That holds when all merges inside the character come before every merge that would cross its border.
   */
  private characterId(unit: number): number {
    const one = Uint16Array.of(unit);
    const bytes = new Uint8Array(3);
    const length = writeUtf8(one, 0, 1, bytes, 0);
    const ids = Array.from(bytes.subarray(0, length), (byte) => this.byteIds[byte]!);
    this.crossing ??= new CrossingRanks(this.options.tokens, this.options.merges);
    const result = ids.includes(-1) ? NOT_ONE_TOKEN : this.crossing.mergeCharacter(ids);
    this.characterIds[unit] = result;
    return result;
  }
}

/** For partial UTF-8 sequences: the earliest merge that joins them with something outside their character. */
class CrossingRanks {
  /** By id of a token that begins with a complete prefix of a character: earliest merge with a left neighbour. */
  private readonly withLeft: Int32Array;
  /** By id of a token that ends a character: earliest merge with a right neighbour. */
  private readonly withRight: Int32Array;

  constructor(
    tokens: readonly (string | undefined)[],
    private readonly merges: MergeTable,
  ) {
    this.withLeft = new Int32Array(tokens.length).fill(MAX_RANK);
    this.withRight = new Int32Array(tokens.length).fill(MAX_RANK);
    const leading = new Uint8Array(tokens.length); // 1: does not end inside a character
    const trailing = new Uint8Array(tokens.length); // 1: begins inside a character
    for (let id = 0; id < tokens.length; id++) {
      const token = tokens[id];
      if (token === undefined || token.length === 0) continue;
      const first = byteOf(token, 0);
      if ((first & 0xc0) === 0x80) trailing[id] = 1;
      leading[id] = endsInsideCharacter(token) ? 0 : 1;
    }
    const slots = merges.slots;
    for (let s = 0; s < slots.length; s += 4) {
      const left = slots[s]!;
      if (left < 0) continue;
      const right = slots[s + 1]!;
      const rank = slots[s + 2]!;
      if (leading[left] === 0 || trailing[right] === 1) continue; // joins within a character
      if (rank < this.withLeft[right]!) this.withLeft[right] = rank;
      if (rank < this.withRight[left]!) this.withRight[left] = rank;
    }
  }

  /** Merges the bytes of one character (2 or 3 ids); the token, or -1 when they end as several or a crossing merge may interfere. */
  mergeCharacter(ids: number[]): number {
    let limit = MAX_RANK;
    let latest = -1;
    while (ids.length > 1) {
      limit = Math.min(limit, this.withLeft[ids[0]!]!, this.withRight[ids[ids.length - 1]!]!);
      let best = -1;
      let at = -1;
      for (let i = 0; i + 1 < ids.length; i++) {
        const s = this.merges.find(ids[i]!, ids[i + 1]!);
        if (s >= 0 && (best < 0 || this.merges.slots[s + 2]! < this.merges.slots[best + 2]!)) {
          best = s;
          at = i;
        }
      }
      if (best < 0) return NOT_ONE_TOKEN;
      latest = Math.max(latest, this.merges.slots[best + 2]!);
      ids.splice(at, 2, this.merges.slots[best + 3]!);
    }
    return latest < limit ? ids[0]! : NOT_ONE_TOKEN;
  }
}

function byteOf(token: string, index: number): number {
  const unit = token.charCodeAt(index);
  return unit < 512 ? UNIT_TO_BYTE[unit]! : -1;
}

/** Whether the last bytes of the token are the beginning of a character that the token does not finish. */
function endsInsideCharacter(token: string): boolean {
  for (let back = 1; back <= 3 && back <= token.length; back++) {
    const byte = byteOf(token, token.length - back);
    if (byte < 0x80) return false;
    if (byte >= 0xc0) return back < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2);
  }
  return false;
}

/** Turns token strings of the byte alphabet into UTF-16, where they are whole characters. */
class TokenDecoder {
  units = new Uint16Array(64);

  /** The number of units written to {@link units}; 0 when the bytes are not valid UTF-8. */
  decode(token: string): number {
    if (this.units.length < token.length) this.units = new Uint16Array(token.length * 2);
    const units = this.units;
    let count = 0;
    for (let i = 0; i < token.length;) {
      const byte = byteOf(token, i++);
      if (byte < 0) return 0;
      if (byte < 0x80) {
        units[count++] = byte;
        continue;
      }
      const extra = byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : 1;
      if (byte < 0xc2 || byte > 0xf4) return 0;
      let c = byte & (0x3f >> extra);
      for (let k = 0; k < extra; k++) {
        const more = i < token.length ? byteOf(token, i++) : -1;
        if (more < 0x80 || more > 0xbf) return 0;
        c = (c << 6) | (more & 63);
      }
      const minimum = extra === 1 ? 0x80 : extra === 2 ? 0x800 : 0x10000;
      if (c < minimum || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) return 0;
      if (c < 0x10000) {
        units[count++] = c;
      } else {
        units[count++] = 0xd7c0 + (c >> 10);
        units[count++] = 0xdc00 | (c & 0x3ff);
      }
    }
    return count;
  }
}
