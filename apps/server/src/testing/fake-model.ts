import { ContextLengthError, InvalidParameterError } from '@dsi/engine';
import type { ChoiceDelta, ChosenLogprob, Generation, ServeRequest, ServedModel } from '../served-model.js';

/** A model whose "tokens" are characters and whose answer is the prompt, reversed. For tests of the HTTP layer. */
export class FakeModel implements ServedModel {
  readonly id = 'fake';
  readonly aliases = ['alias/of-fake'];
  readonly created = 1_700_000_000;
  readonly maxModelLen = 64;
  readonly maxPromptChars = 5000;
  readonly vocabSize = 256;
  readonly hasChatTemplate = true;
  readonly requests: ServeRequest[] = [];
  readonly aborted: string[] = [];
  /** Awaited before each delta: lets a test hold a stream open. */
  gate: () => Promise<void> = async () => {};
  failAfter: { readonly deltas: number; readonly error: Error } | undefined;

  encode(text: string): Uint32Array {
    return Uint32Array.from(text, (c) => c.charCodeAt(0) & 255);
  }

  decode(ids: readonly number[]): string {
    return String.fromCharCode(...ids);
  }

  tokenText(id: number): string {
    return String.fromCharCode(id);
  }

  renderChat(messages: readonly Readonly<Record<string, unknown>>[]) {
    if (messages[0]?.['role'] === 'tool') throw new Error('a conversation cannot begin with a tool message');
    const text = messages.map((m) => String(m['content'])).join('|');
    return { ids: this.encode(text), text };
  }

  async generate(request: ServeRequest): Promise<Generation> {
    this.requests.push(request);
    const { promptIds, params } = request;
    const maxTokens = params.maxTokens ?? this.maxModelLen - promptIds.length;
    if (promptIds.length + 1 > this.maxModelLen) {
      throw new ContextLengthError({ promptTokens: promptIds.length, maxTokens, maxModelLen: this.maxModelLen });
    }
    if (params.minTokens !== undefined && params.minTokens > maxTokens) {
      throw new InvalidParameterError({
        field: 'minTokens',
        value: params.minTokens,
        limit: `at most maxTokens (${maxTokens})`,
      });
    }
    const logprob = (id: number): ChosenLogprob => {
      const token = { id, text: this.tokenText(id), bytes: [id], logprob: -0.5 };
      return { ...token, top: Array.from({ length: params.logprobs ?? 0 }, () => token) };
    };
    return {
      promptTokens: promptIds.length,
      cachedTokens: () => 3,
      promptLogprobs: () => [null, ...Array.from(promptIds.slice(1), logprob)],
      deltas: this.#deltas(request, maxTokens, logprob),
    };
  }

  async *#deltas(
    request: ServeRequest,
    maxTokens: number,
    logprob: (id: number) => ChosenLogprob,
  ): AsyncGenerator<ChoiceDelta> {
    const answer = [...request.promptIds].reverse().slice(0, maxTokens);
    let sent = 0;
    try {
      for (let i = 0; i < answer.length; i++) {
        for (let choice = 0; choice < (request.params.n ?? 1); choice++) {
          await this.gate();
          if (request.signal.aborted) throw request.signal.reason;
          if (this.failAfter && sent === this.failAfter.deltas) throw this.failAfter.error;
          sent++;
          const id = answer[i]!;
          const last = i === answer.length - 1;
          yield {
            choice,
            text: this.tokenText(id),
            tokenIds: [id],
            ...(request.params.logprobs === undefined ? {} : { logprobs: [logprob(id)] }),
            ...(last ? { finishReason: answer.length === maxTokens ? 'length' : 'stop' } : {}),
          };
        }
      }
    } finally {
      if (request.signal.aborted) this.aborted.push(request.requestId);
    }
  }

  stats() {
    return {
      running: 1,
      waiting: 2,
      kvUsage: 0.25,
      prefixQueries: 10,
      prefixHits: 4,
      preemptions: 0,
      promptTokens: 5,
      generationTokens: 6,
    };
  }
}
