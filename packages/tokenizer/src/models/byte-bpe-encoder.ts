import type { ByteBpe } from '../bpe/byte-bpe.js';
import type { IdSink } from '../bpe/id-sink.js';
import type { Scanner } from '../scanners/scanner.js';
import { CodeUnitBuffer } from '../unicode/utf16.js';
import type { SegmentEncoder } from './model.js';

/** Byte-level BPE with a scanner as the pre-tokenizer: works on code units, without a string per piece. */
export class ByteBpeEncoder implements SegmentEncoder {
  private readonly buffer = new CodeUnitBuffer();

  /** @param scanner undefined: the text is one piece */
  constructor(
    private readonly bpe: ByteBpe,
    private readonly scanner: Scanner | undefined,
    private readonly addPrefixSpace: boolean,
  ) {}

  encode(text: string, _atStart: boolean, sink: IdSink): void {
    const input = this.addPrefixSpace && !startsWithWhitespace(text) ? ` ${text}` : text;
    const length = this.buffer.load(input);
    if (length === 0) return;
    if (this.scanner === undefined) this.bpe.encodePiece(this.buffer.units, 0, length, sink);
    else this.bpe.encode(this.buffer.units, 0, length, this.scanner, sink);
  }
}

function startsWithWhitespace(text: string): boolean {
  return text.startsWith(' ');
}
