import { isWhitespace } from '../unicode/categories.js';

/** What happens with the text that a pattern matched. */
export type SplitBehavior = 'Removed' | 'Isolated' | 'MergedWithPrevious' | 'MergedWithNext' | 'Contiguous';

export const SPLIT_BEHAVIORS: readonly SplitBehavior[] = [
  'Removed',
  'Isolated',
  'MergedWithPrevious',
  'MergedWithNext',
  'Contiguous',
];

/** Cuts `text` into matches and the text between them: ascending, covering, as [end, isMatch] with an implied start. */
export type Finder = (text: string, emit: (end: number, isMatch: boolean) => void) => void;

/** Matches of a regular expression, which must have the flag `g` and belong to this finder alone. */
export function regexFinder(regex: RegExp): Finder {
  return (text, emit) => {
    let done = 0;
    // `matchAll` would copy, and so compile, the expression for every text.
    regex.lastIndex = 0;
    for (let match = regex.exec(text); match !== null; match = regex.exec(text)) {
      const end = match.index + match[0].length;
      if (match.index > done) emit(match.index, false);
      if (end > match.index) emit(end, true);
      else regex.lastIndex += (text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1;
      done = end;
    }
    if (done < text.length) emit(text.length, false);
  };
}

/** Matches of a literal string. */
export function literalFinder(literal: string): Finder {
  return (text, emit) => {
    let done = 0;
    for (let at = literal === '' ? -1 : text.indexOf(literal); at >= 0; at = text.indexOf(literal, done)) {
      if (at > done) emit(at, false);
      done = at + literal.length;
      emit(done, true);
    }
    if (done < text.length) emit(text.length, false);
  };
}

/** Characters for which `test` holds. */
export function characterFinder(test: (codePoint: number) => boolean): Finder {
  return (text, emit) => {
    let start = 0;
    for (let i = 0; i < text.length;) {
      const codePoint = text.codePointAt(i)!;
      const width = codePoint > 0xffff ? 2 : 1;
      if (test(codePoint)) {
        if (i > start) emit(i, false);
        emit(i + width, true);
        start = i + width;
      }
      i += width;
    }
    if (start < text.length) emit(text.length, false);
  };
}

/** Matches of `\s+$`, where `$` is the end of the text or of a line: blanks up to there. */
export const trailingBlankFinder: Finder = (text, emit) => {
  let done = 0;
  for (let start = 0; start < text.length;) {
    if (!isWhitespace(text.charCodeAt(start))) {
      start++;
      continue;
    }
    let end = start;
    while (end < text.length && isWhitespace(text.charCodeAt(end))) end++;
    const stop = end === text.length ? end : text.lastIndexOf('\n', end - 1);
    if (stop > start) {
      if (start > done) emit(start, false);
      emit(stop, true);
      done = stop;
    }
    start = end;
  }
  if (done < text.length) emit(text.length, false);
};

/** Splits `text` and appends the pieces (never empty) to `out`. */
export function split(text: string, find: Finder, behavior: SplitBehavior, invert: boolean, out: string[]): void {
  let pieceStart = 0; // start of the piece that may still grow
  let start = 0; // start of the current part
  let previous = false;
  find(text, (end, found) => {
    const isMatch = found !== invert;
    if (start > pieceStart && !joins(behavior, previous, isMatch)) {
      out.push(text.slice(pieceStart, start));
      pieceStart = start;
    }
    if (behavior === 'Removed' && isMatch) pieceStart = end;
    previous = isMatch;
    start = end;
  });
  if (pieceStart < text.length) out.push(text.slice(pieceStart));
}

/** Whether a part belongs to the piece of the part before it. */
function joins(behavior: SplitBehavior, previous: boolean, isMatch: boolean): boolean {
  switch (behavior) {
    case 'Contiguous':
      return previous === isMatch;
    case 'MergedWithPrevious':
      return isMatch && !previous;
    case 'MergedWithNext':
      return previous && !isMatch;
    case 'Isolated':
    case 'Removed':
      return false;
  }
}
