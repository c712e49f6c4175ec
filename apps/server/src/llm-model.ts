import type { ChatMessage, Delta, GenerationStream, LLM, TokenLogprob as EngineLogprob } from '@dsi/engine';
import type { ChoiceDelta, ChosenLogprob, Generation, ServeRequest, ServedModel } from './served-model.js';

/** Milliseconds that admission waits for the first delta: errors found by the core within them become a status code. */
const admissionMs = 1000;

export interface LlmModelOptions {
  readonly id: string;
  readonly aliases: readonly string[];
  readonly created: number;
}

/** The engine's LLM as the HTTP layer sees it. */
export function llmModel(llm: LLM, options: LlmModelOptions): ServedModel {
  return {
    ...options,
    maxModelLen: llm.info.maxModelLen,
    maxPromptChars: llm.info.maxModelLen * longestToken(llm),
    vocabSize: llm.info.vocabSize,
    hasChatTemplate: llm.hasChatTemplate,
    encode: (text, encode) => Uint32Array.from(llm.encodePrompt(text, encode)),
    decode: (ids, decode) => llm.detokenize(ids, decode),
    tokenText: (id) => llm.detokenize([id]),
    renderChat(messages, render) {
      const { ids, text } = llm.renderChat(messages as readonly ChatMessage[], {
        addGenerationPrompt: render.addGenerationPrompt,
        continueFinalMessage: render.continueFinalMessage,
        templateKwargs: render.templateKwargs,
      });
      return { ids: Uint32Array.from(ids), text };
    },
    async generate(request) {
      const stream = llm.stream(request.promptIds, request.params, streamOptions(request));
      const first = stream.next();
      first.catch(() => undefined);
      const early = await Promise.race([first, delay(admissionMs)]);
      const hidden = request.params.skipSpecialTokens === false ? new Set<number>() : llm.tokenizer.specialIds;
      return generation(stream, early ? Promise.resolve(early) : first, hidden);
    },
    stats() {
      const stats = llm.stats;
      return {
        running: stats?.running ?? 0,
        waiting: stats?.waiting ?? 0,
        kvUsage: stats?.kvUsage ?? 0,
        prefixQueries: stats?.prefixQueryTokens ?? 0,
        prefixHits: stats?.prefixHitTokens ?? 0,
        preemptions: stats?.preemptions ?? 0,
        promptTokens: stats?.promptTokens ?? 0,
        generationTokens: stats?.generationTokens ?? 0,
      };
    },
  };
}

/** UTF-8 bytes of the longest token: no token stands for more UTF-16 units than that. */
function longestToken(llm: LLM): number {
  let longest = 1;
  for (let id = 0; id < llm.tokenizer.vocabSize; id++) longest = Math.max(longest, llm.tokenizer.tokenBytes(id).length);
  return longest;
}

function streamOptions(request: ServeRequest) {
  return {
    requestId: request.requestId,
    signal: request.signal,
    ...(request.priority === undefined ? {} : { priority: request.priority }),
    ...(request.cacheSalt === undefined ? {} : { cacheSalt: request.cacheSalt }),
  };
}

function delay(ms: number): Promise<undefined> {
  return new Promise((resolve) => setTimeout(resolve, ms, undefined).unref());
}

function generation(
  stream: GenerationStream,
  first: Promise<IteratorResult<Delta>>,
  hidden: ReadonlySet<number>,
): Generation {
  let cachedTokens = 0;
  let promptLogprobs: readonly (ChosenLogprob | null)[] | undefined;
  async function* deltas(): AsyncGenerator<ChoiceDelta> {
    let ended = false;
    try {
      for (let result = await first; !result.done; result = await stream.next()) {
        const delta = result.value;
        cachedTokens = delta.cachedTokens;
        promptLogprobs ??= delta.promptLogprobs?.map((token) => token && chosen(token, hidden));
        yield choiceDelta(delta, hidden);
      }
      ended = true;
    } finally {
      if (!ended) await stream.return?.();
    }
  }
  return {
    promptTokens: stream.promptIds.length,
    cachedTokens: () => cachedTokens,
    promptLogprobs: () => promptLogprobs,
    deltas: deltas(),
  };
}

function choiceDelta(delta: Delta, hidden: ReadonlySet<number>): ChoiceDelta {
  return {
    choice: delta.choice,
    text: delta.text,
    tokenIds: delta.tokenIds,
    ...(delta.logprobs ? { logprobs: delta.logprobs.map((token) => chosen(token, hidden)) } : {}),
    ...(delta.finishReason ? { finishReason: delta.finishReason } : {}),
    ...(delta.stopReason === undefined ? {} : { stopReason: delta.stopReason }),
  };
}

/** `hidden` tokens are not part of the text, so they have no bytes in it: the bytes of a stream join to its text. */
function chosen(token: EngineLogprob, hidden: ReadonlySet<number>): ChosenLogprob {
  const plain = ({ id, token: text, bytes, logprob }: Omit<EngineLogprob, 'top'>) => ({
    id,
    text,
    bytes: hidden.has(id) ? [] : [...bytes],
    logprob,
  });
  return { ...plain(token), top: token.top.map(plain) };
}
