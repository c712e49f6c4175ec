import { LEGACY_MARKS, LEGACY_NONSPACING_MARKS, LEGACY_PUNCTUATION } from './legacy-data.js';

/** A set of code points. */
export class CodePointSet {
  private readonly bits = new Uint8Array(0x110000 >> 3);

  constructor(encoded: string) {
    let at = 0;
    for (const word of encoded.split(' ')) {
      const [skip, more] = word.split('.') as [string, string?];
      at += Number.parseInt(skip, 36);
      const end = at + (more === undefined ? 0 : Number.parseInt(more, 36));
      for (let c = at; c <= end; c++) this.bits[c >> 3]! |= 1 << (c & 7);
      at = end;
    }
  }

  has(codePoint: number): boolean {
    return (this.bits[codePoint >> 3]! & (1 << (codePoint & 7))) !== 0;
  }
}

let punctuation: CodePointSet | undefined;
let marks: CodePointSet | undefined;
let nonspacing: CodePointSet | undefined;

/** What `Punctuation` and `BertPreTokenizer` split at. */
export function legacyPunctuation(): CodePointSet {
  return (punctuation ??= new CodePointSet(LEGACY_PUNCTUATION));
}

/** What `StripAccents` removes. */
export function legacyMarks(): CodePointSet {
  return (marks ??= new CodePointSet(LEGACY_MARKS));
}

/** What `BertNormalizer` removes as accents. */
export function legacyNonspacingMarks(): CodePointSet {
  return (nonspacing ??= new CodePointSet(LEGACY_NONSPACING_MARKS));
}
