import { toWire } from '../errors/wire.js';
import type { Accepted, Choice } from './choice.js';
import type { RowResult } from './model-runner.js';
import type { EngineStats, FromCore, RequestEvent, RequestMetrics, StepMetrics, WireDelta } from './protocol.js';
import { wireLogprobs, type RequestState } from './request-state.js';

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** Collects what happens to requests and posts it as one message a step. */
export class Outbox {
  #events: RequestEvent[] = [];

  constructor(
    private readonly post: (message: FromCore) => void,
    private readonly stats: () => EngineStats,
  ) {}

  /** Once a request, before its first delta. */
  start({ id, seed, cachedTokens, promptLogprobs }: RequestState): void {
    this.#events.push({ kind: 'start', id, seed, cachedTokens, ...(promptLogprobs ? { promptLogprobs } : {}) });
  }

  /** @param rows results of the tokens that the choice just took; none when it ended from outside */
  delta({ id, wire }: RequestState, choice: Choice, rows: readonly RowResult[], accepted: Accepted): void {
    const { logprobs } = wire.sampling;
    const { text, finishReason, stopReason } = accepted;
    const event: Writable<WireDelta> = {
      kind: 'delta',
      id,
      choice: choice.index,
      tokenIds: rows.map((row) => row.token),
      text,
      completionTokens: choice.output.length,
    };
    if (logprobs >= 0) event.logprobs = rows.map((row) => wireLogprobs(row, row.token, logprobs));
    if (finishReason !== undefined) event.finishReason = finishReason;
    if (stopReason !== undefined) event.stopReason = stopReason;
    if (choice.output.length <= wire.captureLogits) event.logits = rows.map((row) => row.logits!.slice());
    this.#events.push(event);
  }

  end(id: string, metrics: RequestMetrics, error?: unknown): void {
    this.#events.push({ kind: 'end', id, metrics, ...(error === undefined ? {} : { error: toWire(error) }) });
  }

  /** Posts what was collected; nothing when nothing happened. */
  flush(step?: StepMetrics): void {
    if (this.#events.length === 0 && step === undefined) return;
    const events = this.#events;
    this.#events = [];
    this.post({ type: 'step', events, stats: this.stats(), step });
  }
}
