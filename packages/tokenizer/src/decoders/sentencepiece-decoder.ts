import { utf8 } from '../unicode/utf16.js';
import type { TokenDecoder, TokenStream } from './decoder.js';
import { settledLength } from './utf8-text.js';

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
/** A run of byte tokens longer than this is emitted as far as it is settled, rather than held until it ends. */
const HELD_BYTES = 64;

/** How a SentencePiece-like vocabulary is decoded. */
export interface SentencePieceRules {
  /** Text of one token (not a byte token); `first`: it is the first of the sequence. */
  readonly textOf: (token: string, first: boolean) => string;
  /** Whether `<0x41>` stands for a byte. */
  readonly byteFallback: boolean;
  /** Remove up to `count` copies of `content` from the start of the whole text. */
  readonly strip: { readonly content: string; readonly count: number } | undefined;
}

/** The value of a byte token, or -1. */
export function byteTokenValue(token: string): number {
  if (token.length !== 6 || !token.startsWith('<0x') || token.charCodeAt(5) !== 62) return -1;
  const digits = token.slice(3, 5);
  return /^[0-9A-Fa-f]{2}$/.test(digits) ? Number.parseInt(digits, 16) : -1;
}

/**
 * The decoder of SentencePiece-like vocabularies. A run of byte tokens that is valid UTF-8 is that text; of an invalid
 * run every byte is one U+FFFD.
 */
export class SentencePieceDecoder implements TokenDecoder {
  /** Byte value by id, -1 for ordinary tokens; texts of ordinary tokens that are not the first. */
  private readonly values: Int16Array;
  private readonly texts: (string | undefined)[] = [];

  constructor(
    private readonly tokens: readonly (string | undefined)[],
    readonly rules: SentencePieceRules,
  ) {
    this.values = new Int16Array(tokens.length).fill(-1);
    for (let id = 0; id < tokens.length; id++) {
      this.texts.push(undefined);
      const token = tokens[id];
      if (token !== undefined && rules.byteFallback) this.values[id] = byteTokenValue(token);
    }
  }

  decode(ids: ArrayLike<number>): string {
    const stream = new SentencePieceStream(this, Number.POSITIVE_INFINITY);
    let text = '';
    for (let i = 0; i < ids.length; i++) text += stream.push(ids[i]!);
    return text + stream.finish();
  }

  stream(): TokenStream {
    return new SentencePieceStream(this, HELD_BYTES);
  }

  bytesOf(id: number): Uint8Array {
    const value = this.byteValue(id);
    return value >= 0 ? Uint8Array.of(value) : utf8(this.textOf(id, false));
  }

  byteValue(id: number): number {
    return id < this.values.length ? this.values[id]! : -1;
  }

  exists(id: number): boolean {
    return this.tokens[id] !== undefined;
  }

  textOf(id: number, first: boolean): string {
    const token = this.tokens[id];
    if (token === undefined) return '';
    if (first) return this.rules.textOf(token, true);
    return (this.texts[id] ??= this.rules.textOf(token, false));
  }
}

class SentencePieceStream implements TokenStream {
  private run: number[] = [];
  private first = true;
  private toStrip: number;

  constructor(
    private readonly decoder: SentencePieceDecoder,
    private readonly heldBytes: number,
  ) {
    this.toStrip = decoder.rules.strip?.count ?? 0;
  }

  push(id: number): string {
    if (!this.decoder.exists(id)) return '';
    const value = this.decoder.byteValue(id);
    const first = this.first;
    this.first = false;
    if (value >= 0) {
      this.run.push(value);
      return this.run.length > this.heldBytes ? this.strip(this.settled()) : '';
    }
    const text = this.decoder.textOf(id, first);
    return this.strip(this.run.length === 0 ? text : this.endRun() + text);
  }

  finish(): string {
    return this.strip(this.endRun());
  }

  private endRun(): string {
    if (this.run.length === 0) return '';
    const bytes = Uint8Array.from(this.run);
    this.run = [];
    try {
      return strict.decode(bytes);
    } catch {
      return '\ufffd'.repeat(bytes.length);
    }
  }

  private settled(): string {
    const bytes = Uint8Array.from(this.run);
    const length = settledLength(bytes, bytes.length);
    try {
      const text = strict.decode(bytes.subarray(0, length));
      this.run = this.run.slice(length);
      return text;
    } catch {
      return this.endRun();
    }
  }

  private strip(text: string): string {
    const content = this.decoder.rules.strip?.content ?? '';
    while (this.toStrip > 0 && text !== '') {
      if (!text.startsWith(content)) {
        this.toStrip = 0;
        break;
      }
      text = text.slice(content.length);
      this.toStrip--;
    }
    return text;
  }
}
