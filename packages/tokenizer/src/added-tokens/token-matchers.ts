import type { Normalizer } from '../normalizers/normalizer.js';
import type { AddedToken } from '../vocabulary.js';
import { isControl } from './control.js';
import { AddedTokenMatcher } from './matcher.js';

/** Matchers for raw text and, of what is left, for normalised text. */
export interface MatcherPair {
  readonly raw: AddedTokenMatcher;
  readonly normalized: AddedTokenMatcher;
}

/** The matchers of one tokenizer, built when they are first needed. */
export class TokenMatchers {
  private allPair: MatcherPair | undefined;
  private textPair: MatcherPair | undefined;
  private controlMatcher: AddedTokenMatcher | undefined;

  constructor(
    private readonly added: readonly AddedToken[],
    private readonly normalizer: Normalizer | undefined,
  ) {}

  /** All added tokens. */
  get all(): MatcherPair {
    return (this.allPair ??= this.pair(this.added));
  }

  /** Added tokens that belong to ordinary text. */
  get text(): MatcherPair {
    return (this.textPair ??= this.pair(this.added.filter((token) => !isControl(token))));
  }

  /** Control tokens, all of them in raw text. */
  get controls(): AddedTokenMatcher {
    return (this.controlMatcher ??= new AddedTokenMatcher(this.added.filter(isControl)));
  }

  private pair(tokens: readonly AddedToken[]): MatcherPair {
    return {
      raw: new AddedTokenMatcher(tokens.filter((token) => !token.normalized)),
      normalized: new AddedTokenMatcher(
        tokens.filter((token) => token.normalized),
        this.normalizer,
      ),
    };
  }
}
