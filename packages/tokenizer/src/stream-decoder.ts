import type { TokenStream } from './decoders/decoder.js';
import { StopFilter } from './stop-filter.js';
import type { Tokenizer } from './tokenizer.js';

export interface StreamDecoderOptions {
  /** Leave special tokens out of the text. Default true. */
  readonly skipSpecialTokens?: boolean;
  /** Strings that end the text. The one that is completed first counts, the longest among those that end together. */
  readonly stop?: readonly string[];
  /** Emit the stop string itself too. Default false. */
  readonly includeStop?: boolean;
}

/**
 * Text of a growing sequence of ids. Emits whole code points, and never a part of what may become a stop string.
 * The text does not depend on how the ids arrive; without a stop it equals `Tokenizer.decode` of all of them.
 * One sequence, used once.
 */
export class StreamDecoder {
  private readonly stream: TokenStream;
  private readonly skipped: ReadonlySet<number> | undefined;
  private readonly stops: StopFilter;

  /** @throws TokenizerError for an empty stop string */
  constructor(tokenizer: Tokenizer, options: StreamDecoderOptions = {}) {
    this.stream = tokenizer.decodeStream();
    const skip = options.skipSpecialTokens !== false && tokenizer.specialIds.size > 0;
    this.skipped = skip ? tokenizer.specialIds : undefined;
    this.stops = new StopFilter(options);
  }

  /** The stop string that ended the text, if one did; later ids are ignored. */
  get stop(): string | undefined {
    return this.stops.matched;
  }

  /** Takes the next id and returns the text to emit, possibly none. */
  push(id: number): string {
    if (this.skipped?.has(id) === true) return '';
    return this.stops.push(this.stream.push(id));
  }

  /** Ends the sequence and returns the text that was held back. A stop string may still be completed by it. */
  finish(): string {
    return this.stops.push(this.stream.finish()) + this.stops.flush();
  }
}
