import type { AddedToken } from '../vocabulary.js';

/** Element names that vocabularies hold as plain markup for documents, not as controls. */
const HTML_ELEMENTS = new Set(
  (
    'a article b blockquote body br caption cite code dd del div dl dt em footer h1 h2 h3 h4 h5 h6 head header hr html i ' +
    'img kbd li link main mark nav ol p pre q s samp section small span strong sub sup table tbody td tfoot th thead ' +
    'title tr u ul var'
  ).split(' '),
);

/**
 * Whether an added token steers the model, so that text from a user must never become it.
 * Special tokens do. Files also hold turn, tool and thinking markers without the flag (`<｜User｜>`, `<tool_call>`,
 * `<think>`), so anything in angle or square brackets counts, except document markup (`<td>`). What is left (runs of
 * spaces, letters, …) belongs to the encoding of ordinary text.
 */
export function isControl(token: AddedToken): boolean {
  if (token.special) return true;
  const content = token.content.trim();
  const bracketed = (content.startsWith('<') && content.endsWith('>')) || /^\[.+\]$/.test(content);
  if (!bracketed) return false;
  const element = /^<\/?([A-Za-z][A-Za-z0-9]*)\/?>$/.exec(content);
  return element === null || !HTML_ELEMENTS.has(element[1]!.toLowerCase());
}
