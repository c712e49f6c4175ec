import { EngineError } from '@dsi/engine';
import { ApiError } from '../http/api-error.js';
import type { ChoiceDelta, ChosenLogprob, Generation, ServeRequest, ServedModel } from '../served-model.js';

/** One choice, complete. */
export interface FinishedChoice {
  text: string;
  tokenCount: number;
  tokenIds: number[];
  logprobs: ChosenLogprob[];
  finishReason: string;
  stopReason: string | number | null;
}

/** Engine errors as the client sees them: what the request did wrong is a 400 that names the field. */
export function toApiError(error: unknown): unknown {
  if (!(error instanceof EngineError)) return error;
  const param = 'param' in error && typeof error.param === 'string' ? error.param : null;
  switch (error.code) {
    case 'invalid_parameter':
      return new ApiError(400, error.message, { param, code: error.code });
    case 'context_length_exceeded':
    case 'kv_capacity_exceeded':
      return new ApiError(400, error.message, { param: param ?? 'messages', code: error.code });
    case 'duplicate_request':
      return new ApiError(409, error.message, { code: error.code });
    case 'queue_full':
      return new ApiError(429, error.message, {
        type: 'rate_limit_error',
        code: error.code,
        headers: { 'retry-after': '1' },
      });
    case 'engine_closed':
      return new ApiError(503, error.message, { code: error.code, headers: { 'retry-after': '2' } });
    default:
      return new ApiError(500, error.message, { code: error.code });
  }
}

/** Admits a request. `field` is what the error names when the prompt is too long. */
export async function admit(model: ServedModel, request: ServeRequest, field: string): Promise<Generation> {
  try {
    return await model.generate(request);
  } catch (error) {
    const mapped = toApiError(error);
    if (mapped instanceof ApiError && mapped.param === 'messages') {
      throw new ApiError(mapped.status, mapped.message, { param: field, code: mapped.code });
    }
    throw mapped;
  }
}

/** Runs a generation to its end. */
export async function collect(generation: Generation, choices: number): Promise<FinishedChoice[]> {
  const finished: FinishedChoice[] = Array.from({ length: choices }, () => ({
    text: '',
    tokenCount: 0,
    tokenIds: [],
    logprobs: [],
    finishReason: 'stop',
    stopReason: null,
  }));
  try {
    for await (const delta of generation.deltas) {
      const choice = finished[delta.choice]!;
      choice.text += delta.text;
      choice.tokenCount += delta.tokenIds.length;
      choice.tokenIds.push(...delta.tokenIds);
      if (delta.logprobs) choice.logprobs.push(...delta.logprobs);
      if (delta.finishReason !== undefined) {
        choice.finishReason = delta.finishReason;
        choice.stopReason = delta.stopReason ?? null;
      }
    }
  } catch (error) {
    throw toApiError(error);
  }
  return finished;
}

/** Deltas of several generations as they come, tagged with the generation's index. Leaving early leaves all of them. */
export async function* interleave(
  generations: readonly Generation[],
): AsyncGenerator<{ readonly index: number; readonly delta: ChoiceDelta }> {
  const iterators = generations.map((g) => g.deltas[Symbol.asyncIterator]());
  const queue: { index: number; delta: ChoiceDelta }[] = [];
  let open = iterators.length;
  let failure: { error: unknown } | undefined;
  let wake = () => {};
  const pump = async (index: number) => {
    try {
      for (;;) {
        const result = await iterators[index]!.next();
        if (result.done) break;
        queue.push({ index, delta: result.value });
        wake();
      }
    } catch (error) {
      failure ??= { error };
    }
    open--;
    wake();
  };
  iterators.forEach((_, index) => void pump(index));
  try {
    for (;;) {
      const items = queue.splice(0);
      yield* items;
      if (failure) throw failure.error;
      if (items.length > 0 || queue.length > 0) continue;
      if (open === 0) return;
      await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    for (const iterator of iterators) void iterator.return?.().catch(() => undefined);
  }
}

/** An abort controller that fires when the client's connection is gone. */
export function clientGone(request: Request): AbortController {
  const controller = new AbortController();
  if (request.signal.aborted) controller.abort();
  else request.signal.addEventListener('abort', () => controller.abort(), { once: true });
  return controller;
}
