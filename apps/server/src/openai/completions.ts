import { invalidField } from '../http/api-error.js';
import { checkPromptSize } from '../http/prompt-size.js';
import type { ServerContext } from '../http/context.js';
import { readBody } from '../http/read-body.js';
import { sseEvent, sseResponse } from '../http/sse.js';
import type { Generation, ServedModel } from '../served-model.js';
import { completionRequest, type CompletionRequest } from './completion-schema.js';
import { admit, clientGone, collect, interleave, toApiError } from './generate.js';
import { CompletionLogprobsBuilder } from './logprobs.js';
import { streamError } from './stream-error.js';
import { toSampling } from './to-sampling.js';
import { usageOf } from './usage.js';

/** The prompts of a request as ids. A text gets the model's usual BOS; ids are taken as they are. */
function promptsOf(model: ServedModel, body: CompletionRequest): Uint32Array[] {
  const { prompt } = body;
  const list = (typeof prompt === 'string' || typeof prompt[0] === 'number' ? [prompt] : prompt) as (
    string | number[]
  )[];
  const addSpecialTokens = body.add_special_tokens ?? true;
  list.forEach((p, i) => {
    if (typeof p === 'string') checkPromptSize(model, p.length, list.length > 1 ? `prompt[${i}]` : 'prompt');
  });
  const ids = list.map((p) =>
    typeof p === 'string' ? model.encode(p, { addSpecialTokens, parseSpecial: true }) : Uint32Array.from(p),
  );
  ids.forEach((p, i) => {
    if (p.length === 0)
      throw invalidField(
        list.length > 1 ? `prompt[${i}]` : 'prompt',
        'is empty after tokenising; there is nothing to continue.',
      );
  });
  return ids;
}

/** POST /v1/completions */
export async function completions(request: Request, context: ServerContext): Promise<Response> {
  const body = await readBody(request, completionRequest, context.maxBodyBytes);
  const model = context.models.find(body.model);
  const prompts = promptsOf(model, body);
  const id = `cmpl-${context.newId()}`;
  const controller = clientGone(request);
  const n = body.n ?? 1;
  // "max_tokens": 0 asks for the prompt's log-probabilities only; one token is computed and left out.
  const promptOnly = body.max_tokens === 0;
  const maxTokens = promptOnly ? 1 : (body.max_tokens ?? 16);
  const generations: Generation[] = [];
  try {
    for (const [index, promptIds] of prompts.entries()) {
      generations.push(
        await admit(
          model,
          {
            requestId: prompts.length === 1 ? id : `${id}-${index}`,
            promptIds,
            params: {
              ...toSampling(body),
              maxTokens,
              ...(body.logprobs == null ? {} : { logprobs: body.logprobs }),
              ...(body.echo && body.logprobs != null ? { promptLogprobs: body.logprobs } : {}),
            },
            ...(body.priority == null ? {} : { priority: body.priority }),
            ...(body.cache_salt == null ? {} : { cacheSalt: body.cache_salt }),
            signal: controller.signal,
          },
          prompts.length > 1 ? `prompt[${index}]` : 'prompt',
        ),
      );
    }
  } catch (error) {
    controller.abort();
    throw error;
  }
  const base = { id, object: 'text_completion', created: context.now(), model: model.id, system_fingerprint: null };
  const writer = new ChoiceWriter(model, body, prompts, generations);
  if (body.stream) {
    return sseResponse(stream(body, base, n, promptOnly, generations, writer), {
      onCancel: () => controller.abort(),
      keepAliveMs: context.keepAliveMs,
    });
  }
  try {
    const groups = await Promise.all(generations.map((g) => collect(g, n)));
    let completionTokens = 0;
    const choices = groups.flatMap((group, p) =>
      group.map((choice, c) => {
        if (!promptOnly) completionTokens += choice.tokenCount;
        const text = promptOnly ? '' : choice.text;
        return {
          ...writer.piece(p, p * n + c, text, promptOnly ? [] : choice.logprobs),
          finish_reason: promptOnly ? 'length' : choice.finishReason,
          stop_reason: promptOnly ? null : choice.stopReason,
        };
      }),
    );
    return Response.json({ ...base, choices, usage: usage(generations, completionTokens) });
  } catch (error) {
    controller.abort();
    throw error;
  }
}

/** The prompts as they were sent, where they are texts. */
function promptTexts(body: CompletionRequest): readonly (string | undefined)[] {
  const { prompt } = body;
  if (typeof prompt === 'string') return [prompt];
  return prompt.map((p) => (typeof p === 'string' ? p : undefined));
}

function usage(generations: readonly Generation[], completionTokens: number) {
  return usageOf(
    generations.reduce((sum, g) => sum + g.promptTokens, 0),
    completionTokens,
    generations.reduce((sum, g) => sum + g.cachedTokens(), 0),
  );
}

/** Pieces of choices, each choice's first one with the echoed prompt. */
class ChoiceWriter {
  readonly #builders = new Map<number, CompletionLogprobsBuilder>();

  constructor(
    private readonly model: ServedModel,
    private readonly body: CompletionRequest,
    private readonly prompts: readonly Uint32Array[],
    private readonly generations: readonly Generation[],
  ) {}

  piece(prompt: number, index: number, text: string, tokens: Parameters<CompletionLogprobsBuilder['take']>[0]) {
    const { body, model } = this;
    const first = !this.#builders.has(index);
    const builder = this.#builders.get(index) ?? new CompletionLogprobsBuilder();
    this.#builders.set(index, builder);
    const echo = first && body.echo === true;
    const ids = this.prompts[prompt]!;
    // A text is echoed as it was sent; the BOS in front of it is not part of it.
    const sent = promptTexts(body)[prompt];
    const promptText = echo ? (sent ?? model.decode([...ids], { skipSpecialTokens: false })) : '';
    const firstText = sent !== undefined && !sent.startsWith(model.tokenText(ids[0]!)) ? '' : model.tokenText(ids[0]!);
    const promptTokens = echo && body.logprobs != null ? (this.generations[prompt]!.promptLogprobs() ?? []) : [];
    return {
      index,
      text: promptText + text,
      logprobs: body.logprobs == null ? null : builder.take([...promptTokens, ...tokens], firstText),
    };
  }
}

async function* stream(
  body: CompletionRequest,
  base: Record<string, unknown>,
  n: number,
  promptOnly: boolean,
  generations: readonly Generation[],
  writer: ChoiceWriter,
): AsyncGenerator<string> {
  const includeUsage = body.stream_options?.include_usage === true;
  let completionTokens = 0;
  try {
    for await (const { index: prompt, delta } of interleave(generations)) {
      if (!promptOnly) completionTokens += delta.tokenIds.length;
      const text = promptOnly ? '' : delta.text;
      const piece = writer.piece(prompt, prompt * n + delta.choice, text, promptOnly ? [] : (delta.logprobs ?? []));
      const finish = delta.finishReason === undefined ? null : promptOnly ? 'length' : delta.finishReason;
      if (piece.text === '' && finish === null && (piece.logprobs?.tokens.length ?? 0) === 0) continue;
      const choice = {
        ...piece,
        finish_reason: finish,
        ...(finish === null ? {} : { stop_reason: delta.stopReason ?? null }),
      };
      yield sseEvent({ ...base, choices: [choice], ...(includeUsage ? { usage: null } : {}) });
    }
    if (includeUsage) yield sseEvent({ ...base, choices: [], usage: usage(generations, completionTokens) });
  } catch (error) {
    yield streamError(toApiError(error));
  }
}
