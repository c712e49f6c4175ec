import type { ChatMessage } from './chat-schema.js';

function joinContent(content: string | readonly { text: string }[]): string {
  return typeof content === 'string' ? content : content.map((part) => part.text).join('');
}

/** Messages as chat templates expect them: text content as one string, `developer` as `system`, a missing content as null. */
export function templateMessages(messages: readonly ChatMessage[]): Record<string, unknown>[] {
  return messages.map((message) => {
    const { content, role, ...rest } = message;
    return {
      ...rest,
      role: role === 'developer' ? 'system' : role,
      content: content === null || content === undefined ? null : joinContent(content),
    };
  });
}
