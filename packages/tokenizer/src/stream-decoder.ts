import type { TokenStream } from './decoders/decoder.js';
import { StopMatcher } from './stop-matcher.js';
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
  private readonly matcher: StopMatcher | undefined;
  private readonly includeStop: boolean;
  private state = 0;
  private held = '';
  private stopped: string | undefined;

  /** @throws TokenizerError for an empty stop string */
  constructor(tokenizer: Tokenizer, options: StreamDecoderOptions = {}) {
    this.stream = tokenizer.decodeStream();
    const skip = options.skipSpecialTokens !== false && tokenizer.specialIds.size > 0;
    this.skipped = skip ? tokenizer.specialIds : undefined;
    this.includeStop = options.includeStop === true;
    if (options.stop !== undefined && options.stop.length > 0) this.matcher = new StopMatcher(options.stop);
  }

  /** The stop string that ended the text, if one did; later ids are ignored. */
  get stop(): string | undefined {
    return this.stopped;
  }

  /** Takes the next id and returns the text to emit, possibly none. */
  push(id: number): string {
    if (this.skipped?.has(id) === true) return '';
    const text = this.stream.push(id);
    return this.matcher === undefined ? text : this.filter(text, this.matcher);
  }

  /** Ends the sequence and returns the text that was held back. A stop string may still be completed by it. */
  finish(): string {
    const last = this.stream.finish();
    if (this.matcher === undefined) return last;
    const text = this.filter(last, this.matcher) + this.held;
    this.held = '';
    this.state = 0;
    return text;
  }

  private filter(text: string, matcher: StopMatcher): string {
    if (this.stopped !== undefined || text === '') return '';
    for (let i = 0; i < text.length; i++) {
      this.state = matcher.step(this.state, text.charCodeAt(i));
      const match = matcher.matchAt(this.state);
      if (match < 0) continue;
      this.stopped = matcher.stops[match]!;
      const all = this.held + text.slice(0, i + 1);
      this.held = '';
      return this.includeStop ? all : all.slice(0, all.length - this.stopped.length);
    }
    const all = this.held + text;
    const keep = all.length - matcher.held(this.state);
    this.held = all.slice(keep);
    return all.slice(0, keep);
  }
}
