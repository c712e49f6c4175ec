import type { AddedToken } from '../vocabulary.js';
import { RUST_WORD_CLASS } from '../regex/unicode-classes.js';
import { isWhitespace } from '../unicode/categories.js';

interface Node {
  readonly children: Map<number, Node>;
  token: AddedToken | undefined;
}

/** Text cut at added tokens: `token` is set for a match, whose text is [start, end). */
export interface Segment {
  readonly start: number;
  readonly end: number;
  readonly token: AddedToken | undefined;
}

/** Finds added tokens in text, leftmost first and longest among those that start there. */
export class AddedTokenMatcher {
  private readonly root: Node = { children: new Map(), token: undefined };
  private readonly onlyFirstUnit: string | undefined;
  readonly isEmpty: boolean;

  /**
   * @param tokens the tokens to look for
   * @param spelling how a token is spelled in the text to be searched (normalised, for tokens with `normalized`)
   */
  constructor(tokens: readonly AddedToken[], spelling: (content: string) => string = (content) => content) {
    for (const token of tokens) {
      const text = spelling(token.content);
      if (text === '') continue;
      let node = this.root;
      for (let i = 0; i < text.length; i++) {
        const unit = text.charCodeAt(i);
        let child = node.children.get(unit);
        if (child === undefined) {
          child = { children: new Map(), token: undefined };
          node.children.set(unit, child);
        }
        node = child;
      }
      node.token = token;
    }
    this.isEmpty = this.root.children.size === 0;
    const [first] = this.root.children.keys();
    this.onlyFirstUnit = this.root.children.size === 1 ? String.fromCharCode(first!) : undefined;
  }

  /**
   * Cuts `text`, whose segments cover it.
   * @param literal half-open ranges of `text`, ascending, in which (or touching which) nothing may match
   */
  split(text: string, literal: readonly (readonly [number, number])[] = []): Segment[] {
    const segments: Segment[] = [];
    let done = 0;
    let range = 0;
    let from = this.candidate(text, 0);
    while (from < text.length) {
      while (range < literal.length && literal[range]![1] <= from) range++;
      const barrier = range < literal.length ? literal[range]![0] : text.length;
      if (barrier <= from) {
        from = this.candidate(text, literal[range]![1]);
        continue;
      }
      const match = this.longestAt(text, from, barrier);
      if (match === undefined) {
        from = this.candidate(text, from + 1);
        continue;
      }
      const { token, length } = match;
      const stop = from + length;
      if (!token.singleWord || (!isWordBefore(text, from) && !isWordAt(text, stop))) {
        let start = from;
        let end = stop;
        if (token.lstrip) while (start > done && isWhitespace(text.charCodeAt(start - 1))) start--;
        if (token.rstrip) while (end < text.length && isWhitespace(text.charCodeAt(end))) end++;
        if (start > done) segments.push({ start: done, end: start, token: undefined });
        segments.push({ start, end, token });
        done = end;
      }
      from = this.candidate(text, Math.max(stop, done));
    }
    if (done < text.length) segments.push({ start: done, end: text.length, token: undefined });
    return segments;
  }

  private candidate(text: string, from: number): number {
    if (this.isEmpty) return text.length;
    if (this.onlyFirstUnit !== undefined) {
      const at = text.indexOf(this.onlyFirstUnit, from);
      return at < 0 ? text.length : at;
    }
    const children = this.root.children;
    while (from < text.length && !children.has(text.charCodeAt(from))) from++;
    return from;
  }

  private longestAt(text: string, from: number, barrier: number): { token: AddedToken; length: number } | undefined {
    let node = this.root;
    let found: { token: AddedToken; length: number } | undefined;
    for (let i = from; i < barrier; i++) {
      const child = node.children.get(text.charCodeAt(i));
      if (child === undefined) break;
      node = child;
      if (node.token !== undefined) found = { token: node.token, length: i + 1 - from };
    }
    return found;
  }
}

const WORD = new RegExp(`[${RUST_WORD_CLASS}]`, 'u');

function isWord(codePoint: number | undefined): boolean {
  return codePoint !== undefined && WORD.test(String.fromCodePoint(codePoint));
}

function isWordAt(text: string, index: number): boolean {
  return isWord(text.codePointAt(index));
}

function isWordBefore(text: string, index: number): boolean {
  if (index === 0) return false;
  const unit = text.charCodeAt(index - 1);
  const pair = (unit & 0xfc00) === 0xdc00 && index > 1;
  return isWord(text.codePointAt(pair ? index - 2 : index - 1));
}
