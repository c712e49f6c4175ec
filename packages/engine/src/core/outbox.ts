import { toWire } from '../errors/wire.js';
import type { EngineStats, FromCore, RequestEvent, RequestMetrics, StepMetrics } from './protocol.js';

/** Collects what happens to requests and posts it as one message a step. */
export class Outbox {
  #events: RequestEvent[] = [];

  constructor(
    private readonly post: (message: FromCore) => void,
    private readonly stats: () => EngineStats,
  ) {}

  add(event: RequestEvent): void {
    this.#events.push(event);
  }

  end(id: string, metrics: RequestMetrics, error?: unknown): void {
    this.add({ kind: 'end', id, metrics, ...(error === undefined ? {} : { error: toWire(error) }) });
  }

  /** Posts what was collected; nothing when nothing happened. */
  flush(step?: StepMetrics): void {
    if (this.#events.length === 0 && step === undefined) return;
    const events = this.#events;
    this.#events = [];
    this.post({ type: 'step', events, stats: this.stats(), step });
  }
}
