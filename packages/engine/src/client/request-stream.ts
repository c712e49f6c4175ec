import type { FinishReason, RequestMetrics, WireDelta, WireLogprobs, WireStart } from '../core/protocol.js';
import { DeltaQueue } from './delta-queue.js';

/** What one step added to one choice of a request. */
export interface EngineDelta {
  readonly requestId: string;
  /** Index among n. */
  readonly choice: number;
  /** Text that became final; may be empty while a code point or a stop string is incomplete. */
  readonly text: string;
  readonly tokenIds: readonly number[];
  readonly logprobs?: readonly WireLogprobs[];
  /** Present on the last delta of the choice. */
  readonly finishReason?: FinishReason;
  /** The stop string or token id that ended the choice. */
  readonly stopReason?: string | number;
  /** Tokens of this choice so far. */
  readonly completionTokens: number;
  readonly promptTokens: number;
  /** Prompt tokens that came from the prefix cache. */
  readonly cachedTokens: number;
  readonly seed: bigint;
  /** On the first delta of the request, when asked for: one entry a prompt token, the first null. */
  readonly promptLogprobs?: readonly (WireLogprobs | null)[];
  /** Raw logits of each token, of an engine loaded with `captureLogits`. */
  readonly logits?: readonly Float32Array[];
}

/**
 * The deltas of one request, in order. Iterate it once; leaving the loop early aborts the request. Ends when every choice
 * has ended, or throws the request's error.
 */
export class RequestStream implements AsyncIterableIterator<EngineDelta> {
  readonly #queue: DeltaQueue<EngineDelta>;
  #start: WireStart | undefined;
  #fresh = true;
  #metrics: RequestMetrics | undefined;
  #resolveEnded!: () => void;
  /** Resolves when the request has ended, whatever the reason. */
  readonly whenEnded = new Promise<void>((resolve) => {
    this.#resolveEnded = resolve;
  });

  constructor(
    readonly requestId: string,
    private readonly promptTokens: number,
    abandon: () => void,
  ) {
    this.#queue = new DeltaQueue(abandon);
  }

  /** What was measured of the request; there when it has ended. */
  get metrics(): RequestMetrics | undefined {
    return this.#metrics;
  }

  next(): Promise<IteratorResult<EngineDelta>> {
    return this.#queue.next();
  }

  return(): Promise<IteratorResult<EngineDelta>> {
    return this.#queue.return();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** @internal */
  started(event: WireStart): void {
    this.#start = event;
  }

  /** @internal */
  delta(event: WireDelta): void {
    const { kind: _, id: requestId, ...rest } = event;
    const { seed = 0n, cachedTokens = 0, promptLogprobs } = this.#start ?? {};
    const first = this.#fresh && promptLogprobs ? { promptLogprobs } : {};
    this.#fresh = false;
    this.#queue.push({ requestId, ...rest, ...first, seed, cachedTokens, promptTokens: this.promptTokens });
  }

  /** @internal */
  ended(metrics: RequestMetrics | undefined, error?: unknown): void {
    this.#metrics = metrics;
    if (error === undefined) this.#queue.end();
    else this.#queue.fail(error);
    this.#resolveEnded();
  }
}
