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

/**
 * Decodes a window again with every token and gives what is new. The window starts two emissions back, which is as far
 * as a step of this family looks; an unfinished character at the end is held.
 */
class ChainStream implements TokenStream {
  private ids: number[] = [];
  private emitted = '';

  constructor(private readonly decoder: ChainDecoder) {}

  push(id: number): string {
    this.ids.push(id);
    const text = this.decoder.decode(this.ids);
    if (text.endsWith('\ufffd') || !text.startsWith(this.emitted)) return '';
    const fresh = text.slice(this.emitted.length);
    this.emitted = text;
    return fresh;
  }

  finish(): string {
    const text = this.decoder.decode(this.ids);
    return text.startsWith(this.emitted) ? text.slice(this.emitted.length) : '';
  }
}
