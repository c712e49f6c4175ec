import type { PreTokenizer } from './pre-tokenizer.js';

/** Where a Metaspace pre-tokenizer puts a replacement character in front. */
export type PrependScheme = 'always' | 'first' | 'never';

/** Spaces become `replacement` (▁), and pieces begin with it. */
export function metaspace(replacement: string, prependScheme: PrependScheme, splits: boolean): PreTokenizer {
  return (piece, context, out) => {
    if (piece === '') return;
    let text = piece.replaceAll(' ', replacement);
    const prepend = prependScheme === 'always' || (prependScheme === 'first' && context.atStart);
    if (prepend && !text.startsWith(replacement)) text = replacement + text;
    if (!splits) {
      out.push(text);
      return;
    }
    let start = 0;
    for (let at = text.indexOf(replacement, 1); at >= 0; at = text.indexOf(replacement, at + 1)) {
      out.push(text.slice(start, at));
      start = at;
    }
    out.push(text.slice(start));
  };
}
