import { TokenizerFormatError } from './errors.js';
import { MAX_VOCAB_SIZE } from './json/access.js';
import { atOnce, sliceEntries, type Slices } from './slices.js';

/** An added token: matched in the text before the model sees it. */
export interface AddedToken {
  readonly id: number;
  readonly content: string;
  /** Skipped by `decode(…, { skipSpecialTokens: true })`. */
  readonly special: boolean;
  /** Matched against the normalised text, rather than the raw text. */
  readonly normalized: boolean;
  /** Swallows white space on its left. */
  readonly lstrip: boolean;
  /** Swallows white space on its right. */
  readonly rstrip: boolean;
  /** Matches only where no word character touches it. */
  readonly singleWord: boolean;
}

/** Token strings by id and ids by token string: the model's tokens and the added ones. */
export class Vocabulary {
  /** Token string of each id; holes are undefined. */
  readonly tokens: (string | undefined)[];
  private ids: ReadonlyMap<string, number> | undefined;

  /** @param modelTokens token strings of the model, by id (taken over, not copied) */
  constructor(
    modelTokens: (string | undefined)[],
    readonly added: readonly AddedToken[],
  ) {
    this.tokens = modelTokens;
    for (const token of added) {
      if (token.id >= MAX_VOCAB_SIZE) {
        throw new TokenizerFormatError('added_tokens', `id ${token.id} is above the limit of ${MAX_VOCAB_SIZE}`);
      }
      while (this.tokens.length < token.id) this.tokens.push(undefined);
      this.tokens[token.id] = token.content;
    }
  }

  /** One more than the largest id. */
  get size(): number {
    return this.tokens.length;
  }

  tokenOf(id: number): string | undefined {
    return this.tokens[id];
  }

  idOf(token: string): number | undefined {
    return (this.ids ?? atOnce(this.index())).get(token);
  }

  /** What {@link idOf} does at its first call, in slices. */
  *index(): Slices<ReadonlyMap<string, number>> {
    const ids = new Map<string, number>();
    for (let id = 0; id < this.tokens.length; id++) {
      if (id % sliceEntries === 0) yield;
      const text = this.tokens[id];
      if (text !== undefined) ids.set(text, id);
    }
    for (const added of this.added) ids.set(added.content, added.id);
    this.ids = ids;
    return ids;
  }
}
