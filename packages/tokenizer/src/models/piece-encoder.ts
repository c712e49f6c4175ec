import type { ByteBpe } from '../bpe/byte-bpe.js';
import type { IdSink } from '../bpe/id-sink.js';
import type { PreTokenizer } from '../pre-tokenizers/pre-tokenizer.js';
import { CodeUnitBuffer, wellFormed } from '../unicode/utf16.js';
import type { Model, SegmentEncoder } from './model.js';

/** Any pre-tokenizer with any model, piece by piece as strings. */
export class PieceEncoder implements SegmentEncoder {
  /** @param split undefined: the text is one piece */
  constructor(
    private readonly split: PreTokenizer | undefined,
    private readonly model: Model,
  ) {}

  encode(text: string, atStart: boolean, sink: IdSink): void {
    const clean = wellFormed(text);
    if (this.split === undefined) {
      this.model.encodePiece(clean, sink);
      return;
    }
    const pieces: string[] = [];
    this.split(clean, { atStart }, pieces);
    for (const piece of pieces) this.model.encodePiece(piece, sink);
  }
}

/** Byte-level BPE for pieces given as strings (not yet spelled in the byte alphabet). */
export class ByteBpePieces implements Model {
  private readonly buffer = new CodeUnitBuffer();

  constructor(private readonly bpe: ByteBpe) {}

  encodePiece(piece: string, sink: IdSink): void {
    const length = this.buffer.load(piece);
    if (length > 0) this.bpe.encodePiece(this.buffer.units, 0, length, sink);
  }
}
