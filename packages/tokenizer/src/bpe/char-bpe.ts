import { CodeUnitBuffer, pairAt, writeUtf8 } from '../unicode/utf16.js';
import type { IdSink } from './id-sink.js';
import type { MergeTable } from './merge-table.js';
import { Merger } from './merger.js';
import { hashPiece } from './piece-table.js';
import { WordCache } from './word-cache.js';

const WORD_MARK = 0x2581; // ▁

/** What a character-level BPE needs (SentencePiece BPE, classic BPE with prefixes or suffixes). */
export interface CharBpeOptions {
  readonly tokens: readonly (string | undefined)[];
  readonly idOf: (token: string) => number | undefined;
  readonly merges: MergeTable;
  readonly byteFallback: boolean;
  readonly unknownId: number | undefined;
  readonly fuseUnknown: boolean;
  readonly ignoreMerges: boolean;
  readonly continuingSubwordPrefix: string;
  readonly endOfWordSuffix: string;
}

/** Byte-pair encoding that starts from characters. */
export class CharBpe {
  private readonly merger: Merger;
  private readonly cache = new WordCache();
  private readonly buffer = new CodeUnitBuffer();
  private readonly characterIds = new Int32Array(0x10000).fill(-1);
  private readonly astralIds = new Map<number, number>();
  private readonly byteIds: Int32Array | undefined;
  private readonly splitsAtWordMark: boolean;
  private readonly decorated: boolean;
  private readonly bytes = new Uint8Array(8);
  private pendingUnknown = false;

  constructor(private readonly options: CharBpeOptions) {
    const { tokens, merges } = options;
    this.merger = new Merger(merges);
    this.decorated = options.continuingSubwordPrefix !== '' || options.endOfWordSuffix !== '';
    for (let id = 0; id < tokens.length; id++) {
      const token = tokens[id];
      if (token === undefined || token.length === 0 || token.length > 2) continue;
      const codePoint = token.codePointAt(0)!;
      if (token.length === 1) this.characterIds[codePoint] = id;
      else if (codePoint > 0xffff) this.astralIds.set(codePoint, id);
    }
    if (options.byteFallback) this.byteIds = byteTokens(options.idOf);
    this.splitsAtWordMark =
      !this.decorated &&
      !options.ignoreMerges &&
      this.characterIds[WORD_MARK]! >= 0 &&
      !hasMergeIntoWordMark(tokens, merges);
  }

  /** Appends the ids of `piece`, one pre-tokenised piece, to `sink`. */
  encodePiece(piece: string, sink: IdSink): void {
    if (piece === '') return;
    if (this.options.ignoreMerges) {
      const id = this.options.idOf(piece);
      if (id !== undefined) {
        sink.push(id);
        return;
      }
    }
    if (this.decorated) {
      this.encodeDecorated(piece, sink);
      return;
    }
    const length = this.buffer.load(piece);
    const units = this.buffer.units;
    if (!this.splitsAtWordMark) {
      this.encodeUnits(units, 0, length, sink);
      return;
    }
    // No merge crosses from a word into the mark of the next, so each word can be merged on its own.
    let start = 0;
    for (let i = 1; i < length; i++) {
      if (units[i] !== WORD_MARK || units[i - 1] === WORD_MARK) continue;
      this.encodeUnits(units, start, i, sink);
      start = i;
    }
    this.encodeUnits(units, start, length, sink);
  }

  private encodeUnits(units: Uint16Array, start: number, end: number, sink: IdSink): void {
    const length = end - start;
    const hash = hashPiece(units, start, end);
    sink.reserve(length * 3);
    if (length <= 16) {
      const cached = this.cache.read(hash, units, start, length, sink.ids, sink.length);
      if (cached >= 0) {
        sink.length += cached;
        return;
      }
    }
    const merger = this.merger;
    merger.reserve(length * 3 + 1);
    this.pendingUnknown = false;
    let count = 0;
    for (let i = start; i < end; i++) {
      const unit = units[i]!;
      const surrogate = (unit & 0xf800) === 0xd800;
      const id = surrogate ? (this.astralIds.get(pairAt(units, i)) ?? -1) : this.characterIds[unit]!;
      if (id >= 0) {
        count = this.flushUnknown(count);
        merger.symbols[count++] = id;
      } else {
        count = this.missing(units, i, surrogate ? i + 2 : i + 1, count);
      }
      if (surrogate) i++;
    }
    this.finish(this.flushUnknown(count), sink);
    if (length <= 16) {
      this.cache.write(hash, units, start, length, merger.symbols, this.lastCount);
    } else if (length > 1 << 15) {
      merger.release();
    }
  }

  private lastCount = 0;

  private finish(count: number, sink: IdSink): void {
    const merged = this.merger.merge(count);
    this.lastCount = merged;
    sink.reserve(merged);
    for (let i = 0; i < merged; i++) sink.ids[sink.length + i] = this.merger.symbols[i]!;
    sink.length += merged;
  }

  /** A character that is no token: its bytes, else the unknown token, else nothing. */
  private missing(units: Uint16Array, start: number, end: number, count: number): number {
    const byteIds = this.byteIds;
    if (byteIds !== undefined) {
      const length = writeUtf8(units, start, end, this.bytes, 0);
      let complete = true;
      for (let i = 0; i < length; i++) if (byteIds[this.bytes[i]!]! < 0) complete = false;
      if (complete) {
        for (let i = 0; i < length; i++) this.merger.symbols[count++] = byteIds[this.bytes[i]!]!;
        return count;
      }
    }
    if (this.options.unknownId === undefined) return count;
    if (this.pendingUnknown && !this.options.fuseUnknown) count = this.flushUnknown(count);
    this.pendingUnknown = true;
    return count;
  }

  private flushUnknown(count: number): number {
    if (!this.pendingUnknown) return count;
    this.pendingUnknown = false;
    this.merger.symbols[count] = this.options.unknownId!;
    return count + 1;
  }

  /** Words whose characters carry a prefix (inside) or a suffix (at the end) in the vocabulary. */
  private encodeDecorated(piece: string, sink: IdSink): void {
    const { idOf, continuingSubwordPrefix, endOfWordSuffix } = this.options;
    const characters = Array.from(piece);
    this.merger.reserve(characters.length * 4 + 64);
    this.pendingUnknown = false;
    let count = 0;
    for (let i = 0; i < characters.length; i++) {
      const prefix = i > 0 ? continuingSubwordPrefix : '';
      const spelled = prefix + characters[i]! + (i === characters.length - 1 ? endOfWordSuffix : '');
      const id = idOf(spelled);
      if (id !== undefined) {
        count = this.flushUnknown(count);
        this.merger.reserve(count + 2);
        this.merger.symbols[count++] = id;
      } else {
        const length = this.buffer.load(spelled);
        this.merger.reserve(count + length * 3 + 2);
        for (let k = 0; k < length;) {
          const width = (this.buffer.units[k]! & 0xfc00) === 0xd800 ? 2 : 1;
          if (this.byteIds === undefined && k > 0) break; // one unknown for the whole spelling
          count = this.missing(this.buffer.units, k, k + width, count);
          k += width;
        }
      }
    }
    this.finish(this.flushUnknown(count), sink);
  }
}

/** Ids of `<0x00>` to `<0xFF>`, -1 where the vocabulary has none. */
export function byteTokens(idOf: (token: string) => number | undefined): Int32Array {
  const ids = new Int32Array(256);
  for (let byte = 0; byte < 256; byte++) {
    ids[byte] = idOf(`<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`) ?? -1;
  }
  return ids;
}

/** Whether some merge joins a token that does not end in ▁ with one that begins with ▁. */
function hasMergeIntoWordMark(tokens: readonly (string | undefined)[], merges: MergeTable): boolean {
  const slots = merges.slots;
  for (let s = 0; s < slots.length; s += 4) {
    const left = slots[s]!;
    if (left < 0) continue;
    const right = tokens[slots[s + 1]!];
    const before = tokens[left];
    if (right === undefined || before === undefined) continue;
    if (right.charCodeAt(0) === WORD_MARK && before.charCodeAt(before.length - 1) !== WORD_MARK) return true;
  }
  return false;
}
