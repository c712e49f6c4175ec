import type { IdSink } from '../bpe/id-sink.js';

/** Turns one pre-tokenised piece into ids. */
export interface Model {
  /** Appends the ids of `piece` to `sink`. */
  encodePiece(piece: string, sink: IdSink): void;
}

/** Turns text without added tokens into ids: normaliser (already applied), pre-tokenizer and model together. */
export interface SegmentEncoder {
  /**
   * Appends the ids of `text` to `sink`.
   * @param atStart whether `text` stands at the very start of what is encoded
   */
  encode(text: string, atStart: boolean, sink: IdSink): void;
}
