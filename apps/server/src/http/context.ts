import type { ServedModel } from '../served-model.js';
import { ApiError } from './api-error.js';
import type { ServerMetrics } from '../metrics/server-metrics.js';

/** What every route gets. The model appears when its load is complete. */
export interface ServerContext {
  readonly models: ModelDirectory;
  readonly metrics: ServerMetrics;
  readonly maxBodyBytes: number;
  readonly keepAliveMs: number;
  readonly newId: () => string;
  /** Seconds since 1970. */
  readonly now: () => number;
}

export interface LoadState {
  readonly phase: 'loading' | 'ready' | 'failed' | 'draining';
  /** 0 to 1 while loading. */
  readonly progress: number;
  readonly message?: string;
}

/** The served models by name, and whether they are ready. */
export class ModelDirectory {
  #model: ServedModel | undefined;
  #state: LoadState = { phase: 'loading', progress: 0 };

  get state(): LoadState {
    return this.#state;
  }

  setState(state: LoadState): void {
    this.#state = state;
  }

  setReady(model: ServedModel): void {
    this.#model = model;
    this.#state = { phase: 'ready', progress: 1 };
  }

  list(): readonly ServedModel[] {
    return this.#model ? [this.#model] : [];
  }

  /** @throws ApiError 503 while loading, 404 for a name that is not served. */
  find(name: string): ServedModel {
    this.assertReady();
    const model = this.#model!;
    if (name === model.id || model.aliases.includes(name)) return model;
    throw new ApiError(
      404,
      `The model ${JSON.stringify(name)} does not exist; this server has ${JSON.stringify(model.id)}.`,
      {
        param: 'model',
        code: 'model_not_found',
      },
    );
  }

  assertReady(): void {
    if (this.#model && this.#state.phase === 'ready') return;
    const { phase, progress, message } = this.#state;
    const text =
      phase === 'loading'
        ? `The model is still loading (${Math.round(progress * 100)} %); try again in a moment.`
        : phase === 'draining'
          ? 'The server is shutting down.'
          : `The model could not be loaded: ${message ?? 'unknown reason'}`;
    throw new ApiError(503, text, { code: `model_${phase}`, headers: { 'retry-after': '2' } });
  }
}
