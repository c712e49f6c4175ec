import type { IdSink } from '../bpe/id-sink.js';
import type { Model } from './model.js';

export interface WordPieceOptions {
  readonly idOf: (token: string) => number | undefined;
  readonly unknownId: number;
  /** Put before pieces that continue a word. */
  readonly continuingSubwordPrefix: string;
  /** Longer words (in characters) are unknown as a whole. */
  readonly maxInputCharsPerWord: number;
}

/** Greedy longest-match word pieces. */
export class WordPiece implements Model {
  constructor(private readonly options: WordPieceOptions) {}

  encodePiece(piece: string, sink: IdSink): void {
    const { idOf, unknownId, continuingSubwordPrefix, maxInputCharsPerWord } = this.options;
    const characters = Array.from(piece);
    if (characters.length > maxInputCharsPerWord) {
      sink.push(unknownId);
      return;
    }
    const mark = sink.length;
    for (let start = 0; start < characters.length;) {
      let end = characters.length;
      let id: number | undefined;
      for (; end > start; end--) {
        const text = characters.slice(start, end).join('');
        id = idOf(start > 0 ? continuingSubwordPrefix + text : text);
        if (id !== undefined) break;
      }
      if (id === undefined) {
        sink.length = mark;
        sink.push(unknownId);
        return;
      }
      sink.push(id);
      start = end;
    }
  }
}
