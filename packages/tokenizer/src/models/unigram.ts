import type { IdSink } from '../bpe/id-sink.js';
import { byteTokens } from '../bpe/char-bpe.js';
import { UnencodableTextError } from '../errors.js';
import { utf8 } from '../unicode/utf16.js';
import type { Model } from './model.js';

/** The score of an unknown character lies this much below the worst token (SentencePiece's constant). */
const UNKNOWN_PENALTY = 10;

interface Node {
  readonly children: Map<number, Node>;
  id: number;
}

export interface UnigramOptions {
  readonly tokens: readonly (string | undefined)[];
  /** Log probability of each id. */
  readonly scores: ArrayLike<number>;
  readonly unknownId: number | undefined;
  readonly byteFallback: boolean;
  readonly idOf: (token: string) => number | undefined;
  /** Ids never chosen by the model (controls, byte tokens, unused ones). */
  readonly excluded?: ReadonlySet<number>;
}

/** Unigram language model: the segmentation of highest total score (Viterbi). */
export class Unigram implements Model {
  private readonly root: Node = { children: new Map(), id: -1 };
  private readonly unknownScore: number;
  private readonly byteIds: Int32Array | undefined;

  constructor(private readonly options: UnigramOptions) {
    const { tokens, scores, excluded } = options;
    let lowest = Number.POSITIVE_INFINITY;
    for (let id = 0; id < tokens.length; id++) {
      const token = tokens[id];
      if (token === undefined || token === '') continue;
      lowest = Math.min(lowest, scores[id]!);
      if (excluded?.has(id) === true) continue;
      this.insert(token, id);
    }
    this.unknownScore = (lowest === Number.POSITIVE_INFINITY ? 0 : lowest) - UNKNOWN_PENALTY;
    if (options.byteFallback) this.byteIds = byteTokens(options.idOf);
  }

  private insert(token: string, id: number): void {
    let node = this.root;
    for (let i = 0; i < token.length; i++) {
      const unit = token.charCodeAt(i);
      let child = node.children.get(unit);
      if (child === undefined) {
        child = { children: new Map(), id: -1 };
        node.children.set(unit, child);
      }
      node = child;
    }
    node.id = id;
  }

  encodePiece(piece: string, sink: IdSink): void {
    const length = piece.length;
    if (length === 0) return;
    const best = new Float64Array(length + 1).fill(Number.NEGATIVE_INFINITY);
    const from = new Int32Array(length + 1).fill(-1);
    const ids = new Int32Array(length + 1).fill(-1); // -1: unknown
    best[0] = 0;
    for (let start = 0; start < length;) {
      const width = piece.codePointAt(start)! > 0xffff ? 2 : 1;
      this.extend(piece, start, width, best, from, ids);
      start += width;
    }
    this.emit(piece, from, ids, sink);
  }

  private extend(piece: string, start: number, width: number, best: Float64Array, from: Int32Array, ids: Int32Array) {
    const base = best[start]!;
    let hasSingle = false;
    let node = this.root;
    for (let i = start; i < piece.length; i++) {
      const child = node.children.get(piece.charCodeAt(i));
      if (child === undefined) break;
      node = child;
      if (node.id < 0) continue;
      const end = i + 1;
      const score = base + this.options.scores[node.id]!;
      if (from[end]! < 0 || score > best[end]!) {
        best[end] = score;
        from[end] = start;
        ids[end] = node.id;
      }
      if (end === start + width) hasSingle = true;
    }
    if (hasSingle) return;
    const end = start + width;
    const score = base + this.unknownScore;
    if (from[end]! < 0 || score > best[end]!) {
      best[end] = score;
      from[end] = start;
      ids[end] = -1;
    }
  }

  private emit(piece: string, from: Int32Array, ids: Int32Array, sink: IdSink): void {
    const ends: number[] = [];
    for (let end = piece.length; end > 0; end = from[end]!) ends.push(end);
    let unknownStart = -1; // adjacent unknown characters are one unknown token
    for (let i = ends.length - 1; i >= 0; i--) {
      const end = ends[i]!;
      if (ids[end]! >= 0) {
        if (unknownStart >= 0) this.emitUnknown(piece.slice(unknownStart, from[end]!), sink);
        unknownStart = -1;
        sink.push(ids[end]!);
      } else if (unknownStart < 0) {
        unknownStart = from[end]!;
      }
    }
    if (unknownStart >= 0) this.emitUnknown(piece.slice(unknownStart), sink);
  }

  private emitUnknown(text: string, sink: IdSink): void {
    const known = this.options.idOf(text);
    if (known !== undefined && this.options.excluded?.has(known) !== true) {
      sink.push(known);
      return;
    }
    if (this.byteIds !== undefined) {
      const bytes = utf8(text);
      if (bytes.every((byte) => this.byteIds![byte]! >= 0)) {
        for (const byte of bytes) sink.push(this.byteIds[byte]!);
        return;
      }
    }
    if (this.options.unknownId === undefined) {
      throw new UnencodableTextError(
        text,
        `no token spells ${JSON.stringify(text)} and the model has no unknown token`,
      );
    }
    sink.push(this.options.unknownId);
  }
}
