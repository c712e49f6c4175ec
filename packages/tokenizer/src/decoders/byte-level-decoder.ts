import { alphabetBytes } from '../bpe/byte-alphabet.js';
import { utf8 } from '../unicode/utf16.js';
import type { TokenDecoder, TokenStream } from './decoder.js';
import { decodeUtf8, settledLength } from './utf8-text.js';

const NO_BYTES = new Uint8Array(0);

/** The decoder of byte-level vocabularies: the tokens' bytes joined, then read as UTF-8. */
export class ByteLevelDecoder implements TokenDecoder {
  private readonly bytes: (Uint8Array | undefined)[] = [];
  /** Text of tokens whose bytes begin and end at character borders. */
  private readonly texts: (string | undefined)[] = [];

  constructor(private readonly tokens: readonly (string | undefined)[]) {}

  bytesOf(id: number): Uint8Array {
    const known = this.bytes[id];
    if (known !== undefined) return known;
    const token = this.tokens[id];
    if (token === undefined) return NO_BYTES;
    this.growCaches();
    // A token with a character outside the byte alphabet (an added token) stands for its own text.
    const bytes = alphabetBytes(token) ?? utf8(token);
    this.bytes[id] = bytes;
    return bytes;
  }

  decode(ids: ArrayLike<number>): string {
    let length = 0;
    for (let i = 0; i < ids.length; i++) length += this.bytesOf(ids[i]!).length;
    const joined = new Uint8Array(length);
    let at = 0;
    for (let i = 0; i < ids.length; i++) {
      const bytes = this.bytesOf(ids[i]!);
      joined.set(bytes, at);
      at += bytes.length;
    }
    return decodeUtf8(joined);
  }

  stream(): TokenStream {
    return new ByteLevelStream(this);
  }

  /** Text of a token that neither begins nor ends inside a character; undefined for others. */
  wholeText(id: number): string | undefined {
    const known = this.texts[id];
    if (known !== undefined) return known;
    const bytes = this.bytesOf(id);
    if (settledLength(bytes, bytes.length) < bytes.length) return undefined;
    this.growCaches();
    return (this.texts[id] = decodeUtf8(bytes));
  }

  private growCaches(): void {
    // Dense arrays: writing far beyond the end would turn them into dictionaries.
    for (let id = this.bytes.length; id < this.tokens.length; id++) {
      this.bytes.push(undefined);
      this.texts.push(undefined);
    }
  }
}

class ByteLevelStream implements TokenStream {
  /** An unfinished UTF-8 sequence: at most three bytes between calls. */
  private pending = NO_BYTES;

  constructor(private readonly decoder: ByteLevelDecoder) {}

  push(id: number): string {
    if (this.pending.length === 0) {
      const text = this.decoder.wholeText(id);
      if (text !== undefined) return text;
    }
    const bytes = this.decoder.bytesOf(id);
    if (bytes.length === 0) return '';
    const joined = new Uint8Array(this.pending.length + bytes.length);
    joined.set(this.pending);
    joined.set(bytes, this.pending.length);
    const settled = settledLength(joined, joined.length);
    this.pending = joined.slice(settled);
    return settled === 0 ? '' : decodeUtf8(joined.subarray(0, settled));
  }

  finish(): string {
    const text = this.pending.length === 0 ? '' : decodeUtf8(this.pending);
    this.pending = NO_BYTES;
    return text;
  }
}
