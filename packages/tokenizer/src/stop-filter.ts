import { StopMatcher } from './stop-matcher.js';

export interface StopFilterOptions {
  /** Strings that end the text, none of them empty. The first to be completed counts, the longest of those that end together. */
  readonly stop?: readonly string[];
  /** The stop string itself stays in the text. Default false. */
  readonly includeStop?: boolean;
}

/**
 * Ends streamed text at a stop string. Holds back what may yet become one, and only that; the result does not depend on how the
 * text is cut. For one text, used once.
 */
export class StopFilter {
  private readonly matcher: StopMatcher | undefined;
  private readonly includeStop: boolean;
  private state = 0;
  private held = '';
  private stopped: string | undefined;

  /** @throws TokenizerError for an empty stop string */
  constructor({ stop = [], includeStop = false }: StopFilterOptions) {
    this.includeStop = includeStop;
    if (stop.length > 0) this.matcher = new StopMatcher(stop);
  }

  /** The stop string that ended the text, if one did; later text is ignored. */
  get matched(): string | undefined {
    return this.stopped;
  }

  /** @returns the text that became final */
  push(text: string): string {
    const { matcher } = this;
    if (matcher === undefined) return text;
    if (this.stopped !== undefined) return '';
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

  /** Takes text that is exempt: no stop string may contain any of it, begin before it or end in it. @returns what became final */
  pass(text: string): string {
    return this.stopped === undefined ? this.flush() + text : '';
  }

  /** Nothing follows, or nothing that belongs to a match begun. @returns the text that was held back */
  flush(): string {
    const text = this.held;
    this.held = '';
    this.state = 0;
    return text;
  }
}
