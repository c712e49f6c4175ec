/** Turns ids back into text. */
export interface TokenDecoder {
  /** Text of all `ids` together. Ids without a token contribute nothing. */
  decode(ids: ArrayLike<number>): string;
  /** A new incremental decoder; what it gives joined equals {@link decode}. */
  stream(): TokenStream;
  /** The bytes that the token stands for inside text: UTF-8, possibly a part of a character. */
  bytesOf(id: number): Uint8Array;
}

/** Incremental form of a {@link TokenDecoder}: one sequence, used once. */
export interface TokenStream {
  /** Takes the next id and returns the text that is final with it: whole code points, possibly none. */
  push(id: number): string;
  /** Returns what was held back. */
  finish(): string;
}
