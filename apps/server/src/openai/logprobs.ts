import type { ChosenLogprob, TokenLogprob } from '../served-model.js';

/** -Infinity is not JSON; OpenAI writes this for a token that cannot occur. */
const impossible = -9999;

function finite(logprob: number): number {
  return Number.isFinite(logprob) ? logprob : impossible;
}

function chatEntry(token: TokenLogprob) {
  return { token: token.text, logprob: finite(token.logprob), bytes: [...token.bytes] };
}

/** `logprobs.content` of a chat completion. */
export function chatLogprobs(tokens: readonly ChosenLogprob[]) {
  return {
    content: tokens.map((t) => ({ ...chatEntry(t), top_logprobs: t.top.map(chatEntry) })),
    refusal: null,
  };
}

export interface CompletionLogprobs {
  readonly tokens: string[];
  readonly token_logprobs: (number | null)[];
  readonly top_logprobs: (Record<string, number> | null)[];
  readonly text_offset: number[];
}

/** `logprobs` of a text completion, grown token by token; `offset` is where the next token's text begins. */
export class CompletionLogprobsBuilder {
  #offset = 0;

  take(tokens: readonly (ChosenLogprob | null)[], firstText = ''): CompletionLogprobs {
    const result: CompletionLogprobs = { tokens: [], token_logprobs: [], top_logprobs: [], text_offset: [] };
    for (const token of tokens) {
      const text = token?.text ?? firstText;
      result.tokens.push(text);
      result.token_logprobs.push(token ? finite(token.logprob) : null);
      result.top_logprobs.push(token && token.top.length > 0 ? topRecord(token) : null);
      result.text_offset.push(this.#offset);
      this.#offset += text.length;
    }
    return result;
  }
}

function topRecord(token: ChosenLogprob): Record<string, number> {
  const record: Record<string, number> = {};
  for (const t of token.top) record[t.text] = finite(t.logprob);
  return record;
}
