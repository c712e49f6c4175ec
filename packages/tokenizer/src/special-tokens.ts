/** A special token with its text. */
export interface SpecialToken {
  readonly id: number;
  readonly token: string;
}

/** The special tokens that a description names; those it does not name are absent. */
export interface SpecialTokens {
  readonly bos?: SpecialToken;
  readonly eos?: SpecialToken;
  readonly pad?: SpecialToken;
  readonly unk?: SpecialToken;
  /** Ends a turn of a chat; generation stops at it as at `eos`. */
  readonly eot?: SpecialToken;
  readonly sep?: SpecialToken;
  readonly cls?: SpecialToken;
  readonly mask?: SpecialToken;
  /** Fill in the middle: before the prefix, before the suffix, before the part to write. */
  readonly fimPrefix?: SpecialToken;
  readonly fimSuffix?: SpecialToken;
  readonly fimMiddle?: SpecialToken;
}
