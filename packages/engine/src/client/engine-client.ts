import { randomUUID } from 'node:crypto';
import type { EngineStats, FromCore, RequestEvent, RequestMetrics, StepMetrics, ToCore } from '../core/protocol.js';
import { EngineClosedError, EngineCrashedError } from '../errors/lifecycle-errors.js';
import { DuplicateRequestError } from '../errors/request-errors.js';
import { fromWire } from '../errors/wire.js';
import type { EngineInfo } from '../load/engine-info.js';
import type { LoadEvent } from '../load/load-event.js';
import type { ResolvedSampling } from '../sampling/sampling-params.js';
import type { CoreLink } from './core-link.js';
import { RequestStream } from './request-stream.js';

export interface ConnectOptions {
  readonly onLoad?: (event: LoadEvent) => void;
  /** Aborting ends the load; the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

export interface EngineRequest {
  readonly promptIds: Int32Array;
  readonly sampling: ResolvedSampling;
  /** Default: a UUID. */
  readonly requestId?: string;
  /** Lower is served first under the `priority` policy. Default 0. */
  readonly priority?: number;
  readonly cacheSalt?: string;
  /** Raw logits of so many tokens, from the first on; needs an engine loaded with `captureLogits`. */
  readonly captureLogits?: number;
  readonly signal?: AbortSignal;
}

/** Called after every step, and when a request has ended. Listeners must not throw. */
export interface EngineListener {
  step?(step: StepMetrics, stats: EngineStats): void;
  requestEnd?(requestId: string, metrics: RequestMetrics): void;
}

interface Pending {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * The engine as seen from the thread that serves: adds requests, hands out their streams, and keeps the latest statistics.
 * It never blocks on the model.
 */
export class EngineClient {
  readonly info: EngineInfo;
  readonly #link: CoreLink;
  readonly #streams = new Map<string, RequestStream>();
  readonly #answers = new Map<number, Pending>();
  readonly #listeners = new Set<EngineListener>();
  #nextToken = 0;
  #stats: EngineStats | undefined;
  #closed: Promise<void> | undefined;
  #dead: Error | undefined;
  #onClosed: (() => void) | undefined;

  private constructor(link: CoreLink, info: EngineInfo) {
    this.#link = link;
    this.info = info;
  }

  /**
   * Waits until the core behind `link` has loaded. Owns the link from then on, and ends it when loading fails.
   * @throws the core's load error, typed; EngineCrashedError when the core ended; the signal's reason
   */
  static async connect(link: CoreLink, options: ConnectOptions = {}): Promise<EngineClient> {
    const { signal, onLoad } = options;
    let client: EngineClient | undefined;
    try {
      client = await new Promise<EngineClient>((resolve, reject) => {
        if (signal?.aborted) reject(signal.reason);
        signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
        link.listen(
          (message) => {
            if (client) client.#receive(message);
            else if (message.type === 'load') onLoad?.(message.event);
            else if (message.type === 'load-failed') reject(fromWire(message.error));
            else if (message.type === 'ready') resolve((client = new EngineClient(link, message.info)));
          },
          (reason) => {
            if (client) client.#ended(reason);
            else reject(new EngineCrashedError({ reason }));
          },
        );
      });
    } catch (error) {
      await link.terminate();
      throw error;
    }
    link.setRef(false);
    return client;
  }

  /**
   * Adds a request. Errors of the request (too long, bad value, aborted signal) come out of the stream.
   * @throws EngineClosedError | EngineCrashedError when the engine is gone, DuplicateRequestError for an id in use
   */
  add(request: EngineRequest): RequestStream {
    this.#requireAlive();
    const { requestId: id = randomUUID(), signal } = request;
    if (this.#streams.has(id)) throw new DuplicateRequestError({ requestId: id });
    const stream = new RequestStream(id, request.promptIds.length, () => this.abort(id));
    if (signal?.aborted) {
      stream.ended(undefined, signal.reason);
      return stream;
    }
    this.#streams.set(id, stream);
    this.#link.setRef(true);
    this.#post({
      type: 'add',
      request: {
        id,
        promptIds: request.promptIds,
        sampling: request.sampling,
        priority: request.priority ?? 0,
        cacheSalt: request.cacheSalt,
        arrival: performance.timeOrigin + performance.now(),
        captureLogits: request.captureLogits ?? 0,
      },
    });
    if (signal) {
      const onAbort = () => {
        stream.ended(undefined, signal.reason);
        this.abort(id);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      void stream.whenEnded.then(() => signal.removeEventListener('abort', onAbort));
    }
    return stream;
  }

  /** Ends a request within one step; its stream ends with finish reason `abort`. Unknown ids are ignored. */
  abort(id: string): void {
    if (this.#dead || this.#closed || !this.#streams.has(id)) return;
    this.#post({ type: 'abort', id });
  }

  /** The statistics of the last step; undefined before the first. */
  get stats(): EngineStats | undefined {
    return this.#stats;
  }

  /** Statistics of now, asked of the core. */
  queryStats(): Promise<EngineStats> {
    return this.#query('stats') as Promise<EngineStats>;
  }

  /** @throws the integrity error when queues, sequences and blocks disagree */
  async checkIntegrity(): Promise<void> {
    await this.#query('check-integrity');
  }

  /** Drops every block that only the prefix cache holds. @returns how many */
  clearPrefixCache(): Promise<number> {
    return this.#query('clear-prefix-cache') as Promise<number>;
  }

  /** @returns a function that removes the listener */
  listen(listener: EngineListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Requests that have not ended. */
  get numPending(): number {
    return this.#streams.size;
  }

  /** Aborts what runs, frees the model and ends the worker. Idempotent. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    if (this.#dead) return;
    this.#link.setRef(true);
    const closed = new Promise<void>((resolve) => {
      this.#onClosed = resolve;
    });
    this.#post({ type: 'close' });
    await closed;
    this.#dead ??= new EngineClosedError();
    this.#failAll(this.#dead);
    await this.#link.terminate();
  }

  #requireAlive(): void {
    if (this.#dead) throw this.#dead;
    if (this.#closed) throw new EngineClosedError();
  }

  #query(what: Extract<ToCore, { type: 'query' }>['what']): Promise<unknown> {
    this.#requireAlive();
    const token = this.#nextToken++;
    return new Promise((resolve, reject) => {
      this.#answers.set(token, { resolve, reject });
      this.#link.setRef(true);
      this.#post({ type: 'query', token, what });
    });
  }

  #post(message: ToCore): void {
    this.#link.post(message);
  }

  #receive(message: FromCore): void {
    switch (message.type) {
      case 'step': {
        this.#stats = message.stats;
        for (const event of message.events) this.#event(event);
        if (message.step) for (const listener of this.#listeners) listener.step?.(message.step, message.stats);
        break;
      }
      case 'answer': {
        const pending = this.#answers.get(message.token);
        this.#answers.delete(message.token);
        if (message.error) pending?.reject(fromWire(message.error));
        else pending?.resolve(message.value);
        break;
      }
      case 'closed':
        this.#onClosed?.();
    }
    this.#rest();
  }

  #event(event: RequestEvent): void {
    const stream = this.#streams.get(event.id);
    if (event.kind === 'end') {
      this.#streams.delete(event.id);
      stream?.ended(event.metrics, event.error && fromWire(event.error));
      for (const listener of this.#listeners) listener.requestEnd?.(event.id, event.metrics);
    } else if (event.kind === 'start') {
      stream?.started(event);
    } else {
      stream?.delta(event);
    }
  }

  #ended(reason: string): void {
    this.#dead ??= this.#closed ? new EngineClosedError() : new EngineCrashedError({ reason });
    this.#failAll(this.#dead);
    this.#onClosed?.();
  }

  #failAll(error: Error): void {
    for (const stream of this.#streams.values()) stream.ended(undefined, error);
    this.#streams.clear();
    for (const pending of this.#answers.values()) pending.reject(error);
    this.#answers.clear();
  }

  /** An idle engine does not keep the process alive. */
  #rest(): void {
    if (this.#streams.size === 0 && this.#answers.size === 0 && !this.#closed) this.#link.setRef(false);
  }
}
