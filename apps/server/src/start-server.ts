import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { serve, type ServerType } from '@hono/node-server';
import { LLM, type LLMOptions, type LoadEvent, type RequestMetrics } from '@dsi/engine';
import { pino, type Logger } from 'pino';
import { createApp } from './app.js';
import { ModelDirectory } from './http/context.js';
import { llmModel } from './llm-model.js';
import { startEventLoopMonitor } from './metrics/event-loop.js';
import { ServerMetrics, type FinishedRequest } from './metrics/server-metrics.js';

export interface ServerOptions {
  /** How the model is loaded. */
  readonly engine: Omit<LLMOptions, 'onProgress' | 'signal' | 'inProcess'>;
  /** Name that clients use. */
  readonly modelName: string;
  /** Other names for the same model. */
  readonly aliases?: readonly string[];
  readonly host?: string;
  /** 0 takes a free port. */
  readonly port?: number;
  readonly maxBodyBytes?: number;
  /** Milliseconds without an event after which a streaming response gets a comment line. */
  readonly keepAliveMs?: number;
  /** Milliseconds that running requests get to finish when the server stops. */
  readonly drainMs?: number;
  readonly log?: Logger;
  readonly onLoadProgress?: (event: LoadEvent) => void;
}

export interface RunningServer {
  readonly url: string;
  readonly port: number;
  /** Resolves when the model answers; rejects when it cannot be loaded (the server then keeps answering 503 until closed). */
  readonly ready: Promise<LLM>;
  /** Event-loop delay of this thread since start, P99 in seconds. */
  eventLoopP99(): number;
  /** Takes no new requests, lets running ones finish for `drainMs`, aborts the rest, frees the model. */
  close(): Promise<void>;
}

/** Listens at once, and loads the model meanwhile: `/health` says how far it is. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const log = options.log ?? pino({ level: 'warn' });
  const models = new ModelDirectory();
  const eventLoop = startEventLoopMonitor();
  const metrics = new ServerMetrics(options.modelName, () => models.list()[0]?.stats(), eventLoop);
  const app = createApp({
    models,
    metrics,
    log,
    maxBodyBytes: options.maxBodyBytes ?? 32 * 2 ** 20,
    keepAliveMs: options.keepAliveMs ?? 15_000,
    newId: () => randomUUID().replaceAll('-', ''),
    now: () => Math.floor(Date.now() / 1000),
  });
  const server = await listen(app.fetch, options.host ?? '127.0.0.1', options.port ?? 8000);
  const address = server.address() as AddressInfo;
  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address;

  const loading = new AbortController();
  const ready = loadModel(options, models, metrics, loading.signal);
  ready.catch((error: Error) => models.setState({ phase: 'failed', progress: 0, message: error.message }));

  let closing: Promise<void> | undefined;
  const close = async () => {
    models.setState({ phase: 'draining', progress: 0 });
    loading.abort(new Error('the server is closing'));
    const llm = await ready.catch(() => undefined);
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    if (llm) await drain(llm, options.drainMs ?? 5000);
    await llm?.close();
    if ('closeAllConnections' in server) server.closeAllConnections();
    await closed;
    eventLoop.stop();
  };
  return {
    url: `http://${host === '127.0.0.1' || host === '0.0.0.0' ? 'localhost' : host}:${address.port}`,
    port: address.port,
    ready,
    eventLoopP99: () => eventLoop.p99Seconds(),
    close: () => (closing ??= close()),
  };
}

function listen(
  fetch: (request: Request) => Response | Promise<Response>,
  hostname: string,
  port: number,
): Promise<ServerType> {
  return new Promise((resolve, reject) => {
    const server = serve({ fetch, hostname, port }, () => resolve(server));
    server.once('error', reject);
  });
}

async function loadModel(
  options: ServerOptions,
  models: ModelDirectory,
  metrics: ServerMetrics,
  signal: AbortSignal,
): Promise<LLM> {
  const llm = await LLM.load({
    ...options.engine,
    signal,
    onProgress(event) {
      if (event.totalBytes > 0) models.setState({ phase: 'loading', progress: event.loadedBytes / event.totalBytes });
      options.onLoadProgress?.(event);
    },
  });
  llm.engine.listen({
    step: (step) =>
      metrics.step(
        step.tokens,
        step.interTokenMs.map((ms) => ms / 1e3),
      ),
    requestEnd: (_id, request) => metrics.finished(finishedRequest(request)),
  });
  models.setReady(
    llmModel(llm, { id: options.modelName, aliases: options.aliases ?? [], created: Math.floor(Date.now() / 1000) }),
  );
  return llm;
}

function finishedRequest(metrics: RequestMetrics): FinishedRequest {
  const seconds = (ms: number | undefined) => (ms === undefined ? undefined : ms / 1e3);
  return {
    finishReason: metrics.finishReason,
    promptTokens: metrics.promptTokens,
    generationTokens: metrics.completionTokens,
    n: metrics.numChoices,
    maxTokens: metrics.maxTokens,
    queueSeconds: seconds(metrics.queueMs),
    prefillSeconds: seconds(metrics.prefillMs),
    decodeSeconds: seconds(metrics.decodeMs),
    firstTokenSeconds: seconds(metrics.timeToFirstTokenMs),
    totalSeconds: metrics.endToEndMs / 1e3,
  };
}

async function drain(llm: LLM, limitMs: number): Promise<void> {
  const end = performance.now() + limitMs;
  while (llm.engine.numPending > 0 && performance.now() < end) await new Promise((resolve) => setTimeout(resolve, 20));
}
