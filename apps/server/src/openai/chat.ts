import { invalidField } from '../http/api-error.js';
import { checkPromptSize, textLength } from '../http/prompt-size.js';
import type { ServerContext } from '../http/context.js';
import { readBody } from '../http/read-body.js';
import { sseEvent, sseResponse } from '../http/sse.js';
import type { ChoiceDelta, Generation, ServedModel } from '../served-model.js';
import { chatRequest, type ChatRequest } from './chat-schema.js';
import { admit, clientGone, collect, toApiError } from './generate.js';
import { chatLogprobs } from './logprobs.js';
import { templateMessages } from './messages.js';
import { streamError } from './stream-error.js';
import { toSampling } from './to-sampling.js';
import { usageOf } from './usage.js';

/** Renders the messages; a template's own complaint (wrong order of roles) is a 400. */
function renderPrompt(model: ServedModel, body: ChatRequest): Uint32Array {
  if (!model.hasChatTemplate) {
    throw invalidField('messages', `${model.id} has no chat template; use /v1/completions.`, 'no_chat_template');
  }
  checkPromptSize(model, textLength(body.messages), 'messages');
  const last = body.messages.at(-1)!;
  const prefix = last.role === 'assistant' && last.prefix === true;
  const continueFinal = body.continue_final_message ?? prefix;
  if (continueFinal && last.role !== 'assistant') {
    throw invalidField('continue_final_message', 'needs an assistant message at the end of messages.');
  }
  const addGenerationPrompt = body.add_generation_prompt ?? !continueFinal;
  if (continueFinal && addGenerationPrompt) {
    throw invalidField('add_generation_prompt', 'cannot be combined with continue_final_message.');
  }
  try {
    return model.renderChat(templateMessages(body.messages), {
      addGenerationPrompt,
      continueFinalMessage: continueFinal,
      templateKwargs: body.chat_template_kwargs ?? {},
    }).ids;
  } catch (error) {
    throw invalidField(
      'messages',
      `The chat template refused these messages: ${(error as Error).message}`,
      'chat_template_error',
    );
  }
}

/** POST /v1/chat/completions */
export async function chatCompletions(request: Request, context: ServerContext): Promise<Response> {
  const body = await readBody(request, chatRequest, context.maxBodyBytes);
  const model = context.models.find(body.model);
  const promptIds = renderPrompt(model, body);
  const maxTokens = body.max_completion_tokens ?? body.max_tokens;
  const id = `chatcmpl-${context.newId()}`;
  const controller = clientGone(request);
  const generation = await admit(
    model,
    {
      requestId: id,
      promptIds,
      params: {
        ...toSampling(body),
        ...(maxTokens == null ? {} : { maxTokens }),
        ...(body.logprobs ? { logprobs: body.top_logprobs ?? 0 } : {}),
      },
      ...(body.priority == null ? {} : { priority: body.priority }),
      ...(body.cache_salt == null ? {} : { cacheSalt: body.cache_salt }),
      signal: controller.signal,
    },
    'messages',
  );
  const base = { id, created: context.now(), model: model.id, system_fingerprint: null };
  if (body.stream) {
    return sseResponse(streamChunks(body, generation, base), {
      onCancel: () => controller.abort(),
      keepAliveMs: context.keepAliveMs,
    });
  }
  const choices = await collect(generation, body.n ?? 1);
  const completionTokens = choices.reduce((n, c) => n + c.tokenCount, 0);
  return Response.json({
    ...base,
    object: 'chat.completion',
    choices: choices.map((choice, index) => ({
      index,
      message: { role: 'assistant', content: choice.text, refusal: null },
      logprobs: body.logprobs ? chatLogprobs(choice.logprobs) : null,
      finish_reason: choice.finishReason,
      stop_reason: choice.stopReason,
    })),
    usage: usageOf(generation.promptTokens, completionTokens, generation.cachedTokens()),
  });
}

/** Chunks in OpenAI's order: role, content..., finish reason, then usage alone if asked for. */
async function* streamChunks(
  body: ChatRequest,
  generation: Generation,
  base: { id: string; created: number; model: string; system_fingerprint: null },
): AsyncGenerator<string> {
  const includeUsage = body.stream_options?.include_usage === true;
  const chunk = (choices: unknown[], usage: unknown = null) =>
    sseEvent({ ...base, object: 'chat.completion.chunk', choices, ...(includeUsage ? { usage } : {}) });
  const choice = (index: number, delta: object, logprobs: unknown, finishReason: string | null, stop?: unknown) => ({
    index,
    delta,
    logprobs,
    finish_reason: finishReason,
    ...(finishReason === null ? {} : { stop_reason: stop ?? null }),
  });
  let completionTokens = 0;
  const started = new Set<number>();
  const start = (index: number) => {
    if (started.has(index)) return '';
    started.add(index);
    return chunk([choice(index, { role: 'assistant', content: '' }, null, null)]);
  };
  const content = (delta: ChoiceDelta) => {
    const logprobs = body.logprobs && delta.logprobs?.length ? chatLogprobs(delta.logprobs) : null;
    if (delta.text === '' && logprobs === null) return '';
    return chunk([choice(delta.choice, { content: delta.text }, logprobs, null)]);
  };
  try {
    for await (const delta of generation.deltas) {
      completionTokens += delta.tokenIds.length;
      let events = start(delta.choice) + content(delta);
      if (delta.finishReason !== undefined) {
        events += chunk([choice(delta.choice, {}, null, delta.finishReason, delta.stopReason)]);
      }
      if (events !== '') yield events;
    }
    if (includeUsage) yield chunk([], usageOf(generation.promptTokens, completionTokens, generation.cachedTokens()));
  } catch (error) {
    yield streamError(toApiError(error));
  }
}
