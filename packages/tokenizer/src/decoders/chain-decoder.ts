import { utf8 } from '../unicode/utf16.js';
import type { TokenDecoder, TokenStream } from './decoder.js';

/** One step of a decoder chain: strings in, strings out, joined at the end of the chain. */
export type DecoderStep = (tokens: string[]) => string[];

/** Any sequence of decoder steps, in the general form. */
export class ChainDecoder implements TokenDecoder {
  constructor(
    private readonly tokens: readonly (string | undefined)[],
    private readonly steps: readonly DecoderStep[],
    private readonly separator: string,
  ) {}

  decode(ids: ArrayLike<number>): string {
    let texts: string[] = [];
    for (let i = 0; i < ids.length; i++) {
      const token = this.tokens[ids[i]!];
      if (token !== undefined) texts.push(token);
    }
    for (const step of this.steps) texts = step(texts);
    return texts.join(this.separator);
  }

  stream(): TokenStream {
    return new ChainStream(this);
  }

  bytesOf(id: number): Uint8Array {
    return utf8(this.decode([id]));
  }
}

/** A window this long is emitted even if it seems to end inside a character. */
const MAX_WINDOW = 64;

/**
 * Decodes a window of the last tokens again with every token and gives what is new. The window begins with the tokens
 * of the emission before, as a token's text may depend on its neighbour; an unfinished character at the end is held.
 */
class ChainStream implements TokenStream {
  private window: number[] = [];
  /** How many tokens of the window are emitted already, and their text. */
  private emitted = 0;
  private emittedText = '';

  constructor(private readonly decoder: ChainDecoder) {}

  push(id: number): string {
    this.window.push(id);
    const text = this.decoder.decode(this.window);
    const settled = !text.endsWith('\ufffd') || this.window.length >= MAX_WINDOW;
    if (!settled || text.length <= this.emittedText.length) return '';
    const fresh = text.slice(this.emittedText.length);
    this.window = this.window.slice(this.emitted);
    this.emitted = this.window.length;
    this.emittedText = this.decoder.decode(this.window);
    return fresh;
  }

  finish(): string {
    const text = this.decoder.decode(this.window);
    return text.slice(this.emittedText.length);
  }
}
