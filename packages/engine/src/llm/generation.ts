import type { EngineDelta, RequestStream } from '../client/request-stream.js';
import type { FinishReason, RequestMetrics } from '../core/protocol.js';
import type { TokenLogprob } from './logprobs.js';

/** What one step added to one choice. */
export interface Delta extends Omit<EngineDelta, 'logprobs' | 'promptLogprobs'> {
  readonly logprobs?: readonly TokenLogprob[];
  readonly promptLogprobs?: readonly (TokenLogprob | null)[];
}

/** The deltas of one request. Iterate it once; leaving the loop early aborts the request. */
export interface GenerationStream extends AsyncIterableIterator<Delta> {
  readonly requestId: string;
  readonly promptIds: Int32Array;
  /** Ends the request; the stream ends with finish reason `abort`. */
  abort(): void;
  /** What was measured; there when the stream has ended. */
  readonly metrics: RequestMetrics | undefined;
}

export interface GeneratedChoice {
  /** Index among n. */
  readonly index: number;
  readonly text: string;
  readonly tokenIds: readonly number[];
  readonly finishReason: FinishReason;
  /** The stop string or token id that ended it, if that did. */
  readonly stopReason?: string | number;
  readonly logprobs?: readonly TokenLogprob[];
  /** Raw logits [V] of each token, of an engine loaded with `captureLogits`. */
  readonly logits?: readonly Float32Array[];
}

export interface Generation {
  readonly requestId: string;
  readonly promptIds: Int32Array;
  readonly choices: readonly GeneratedChoice[];
  /** Text of the first choice. */
  readonly text: string;
  /** The seed that was given or drawn: with it the same tokens come again. */
  readonly seed: bigint;
  /** One entry a prompt token, the first null. */
  readonly promptLogprobs?: readonly (TokenLogprob | null)[];
  readonly usage: {
    readonly promptTokens: number;
    /** Prompt tokens that came from the prefix cache. */
    readonly cachedTokens: number;
    readonly completionTokens: number;
  };
  readonly metrics: RequestMetrics | undefined;
}

interface ChoiceBuffer {
  text: string;
  tokenIds: number[];
  logprobs: TokenLogprob[] | undefined;
  logits: Float32Array[] | undefined;
  finishReason: FinishReason;
  stopReason: string | number | undefined;
}

/** Reads a stream to its end. @throws the request's error */
export async function collectGeneration(stream: GenerationStream): Promise<Generation> {
  const buffers: ChoiceBuffer[] = [];
  let seed = 0n;
  let cachedTokens = 0;
  let promptLogprobs: readonly (TokenLogprob | null)[] | undefined;
  for await (const delta of stream) {
    ({ seed, cachedTokens } = delta);
    promptLogprobs ??= delta.promptLogprobs;
    const buffer = (buffers[delta.choice] ??= emptyBuffer());
    buffer.text += delta.text;
    buffer.tokenIds.push(...delta.tokenIds);
    if (delta.logprobs) (buffer.logprobs ??= []).push(...delta.logprobs);
    if (delta.logits) (buffer.logits ??= []).push(...delta.logits);
    if (delta.finishReason) buffer.finishReason = delta.finishReason;
    buffer.stopReason = delta.stopReason;
  }
  return {
    requestId: stream.requestId,
    promptIds: stream.promptIds,
    choices: buffers.map(toChoice),
    text: buffers[0]?.text ?? '',
    seed,
    ...(promptLogprobs ? { promptLogprobs } : {}),
    usage: {
      promptTokens: stream.promptIds.length,
      cachedTokens,
      completionTokens: buffers.reduce((n, buffer) => n + buffer.tokenIds.length, 0),
    },
    metrics: stream.metrics,
  };
}

function emptyBuffer(): ChoiceBuffer {
  return {
    text: '',
    tokenIds: [],
    logprobs: undefined,
    logits: undefined,
    finishReason: 'abort',
    stopReason: undefined,
  };
}

function toChoice(buffer: ChoiceBuffer, index: number): GeneratedChoice {
  const { text, tokenIds, finishReason, stopReason, logprobs, logits } = buffer;
  return {
    index,
    text,
    tokenIds,
    finishReason,
    ...(stopReason === undefined ? {} : { stopReason }),
    ...(logprobs ? { logprobs } : {}),
    ...(logits ? { logits } : {}),
  };
}

/** A request's stream with every delta mapped. */
export function mapStream(
  stream: RequestStream,
  promptIds: Int32Array,
  map: (delta: EngineDelta) => Delta,
  abort: () => void,
): GenerationStream {
  return {
    requestId: stream.requestId,
    promptIds,
    abort,
    get metrics() {
      return stream.metrics;
    },
    async next() {
      const result = await stream.next();
      return result.done ? { value: undefined, done: true } : { value: map(result.value), done: false };
    },
    async return() {
      await stream.return();
      return { value: undefined, done: true };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
