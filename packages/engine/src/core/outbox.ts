import { toWire } from '../errors/wire.js';
import type { Accepted, Choice } from './choice.js';
import type { RowResult } from './model-runner.js';
import type { EngineStats, FromCore, RequestEvent, RequestMetrics, StepMetrics } from './protocol.js';
import { wireLogprobs, type RequestState } from './request-state.js';

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
    this.#events.push({
      kind: 'delta',
      id,
      choice: choice.index,
      tokenIds: rows.map((row) => row.token),
      text,
      completionTokens: choice.output.length,
      ...(logprobs < 0 ? {} : { logprobs: rows.map((row) => wireLogprobs(row, row.token, logprobs)) }),
      ...(finishReason === undefined ? {} : { finishReason }),
      ...(stopReason === undefined ? {} : { stopReason }),
      ...(choice.output.length <= wire.captureLogits ? { logits: rows.map((row) => row.logits!.slice()) } : {}),
    });
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
