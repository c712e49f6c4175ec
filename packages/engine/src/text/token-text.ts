/** Turns the tokens of one sequence into text, in pieces that never split a code point. */
export interface TokenText {
  /** @returns text that became complete with this token; often empty */
  push(id: number): string;
  /** No token follows. @returns what an incomplete code point decodes to */
  finish(): string;
}

/** What the core needs of a tokenizer. */
export interface TokenTextFactory {
  open(options: { readonly skipSpecialTokens: boolean }): TokenText;
}
