import { ChatTemplateError } from './errors.js';
import { plain, slice, type Text } from './marked-text.js';
import type { ChatMessage } from './messages.js';
import { strip } from './string-methods.js';

/** Put after the text to continue, to find its end in the rendered chat. The blank tells whether the template trims. */
const TAG = 'CONTINUE_FINAL_MESSAGE_TAG ';

/** Where the last message goes on: a field of it. */
export type ContinuedField = 'content' | 'reasoning_content';

/** The messages with a tag after the text to continue, and that text. */
export function tagFinalMessage(
  messages: readonly ChatMessage[],
  field: ContinuedField,
): { readonly messages: ChatMessage[]; readonly text: string } {
  const last = messages.at(-1);
  const value = last?.[field];
  if (last === undefined || value === undefined || value === null) {
    throw new ChatTemplateError(`the last message has no "${field}" to continue`);
  }
  const before = messages.slice(0, -1);
  if (typeof value === 'string') return { messages: [...before, { ...last, [field]: value + TAG }], text: value };
  if (Array.isArray(value)) {
    const parts: unknown[] = [...(value as unknown[])];
    for (let i = parts.length - 1; i >= 0; i--) {
      const part = parts[i] as Readonly<Record<string, unknown>> | null;
      if (typeof part !== 'object' || part === null || typeof part['text'] !== 'string') continue;
      parts[i] = { ...part, text: part['text'] + TAG };
      return { messages: [...before, { ...last, [field]: parts }], text: part['text'] };
    }
  }
  throw new ChatTemplateError(`the last message's "${field}" has no text to continue`);
}

/** The rendered chat up to the tag: it ends in the text to continue. */
export function cutAtTag(rendered: Text, text: string): Text {
  const all = plain(rendered);
  const at = all.lastIndexOf(TAG.trimEnd());
  if (at < 0 || !all.includes(plain(strip(text, undefined, true, true)))) {
    throw new ChatTemplateError(
      'the last message cannot be continued: the chat template does not print it, or not as it is',
    );
  }
  const cut = slice(rendered, 0, at);
  return all.startsWith(TAG, at) ? cut : strip(cut, undefined, false, true);
}
