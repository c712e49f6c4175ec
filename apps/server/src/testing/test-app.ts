import { pino } from 'pino';
import { createApp } from '../app.js';
import { ModelDirectory } from '../http/context.js';
import { ServerMetrics } from '../metrics/server-metrics.js';
import { FakeModel } from './fake-model.js';

/** The app over a fake model, without a socket. */
export function testApp(options: { readonly ready?: boolean; readonly maxBodyBytes?: number } = {}) {
  const model = new FakeModel();
  const models = new ModelDirectory();
  if (options.ready ?? true) models.setReady(model);
  const metrics = new ServerMetrics('fake', () => model.stats(), { p99Seconds: () => 0.001, stop: () => {} });
  let id = 0;
  const app = createApp({
    models,
    metrics,
    log: pino({ level: 'silent' }),
    maxBodyBytes: options.maxBodyBytes ?? 10_000,
    keepAliveMs: 60_000,
    newId: () => `id${id++}`,
    now: () => 1_700_000_001,
  });
  const post = (path: string, body: unknown, init: RequestInit = {}) =>
    app.request(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: typeof body === 'string' ? body : JSON.stringify(body),
      ...init,
    });
  return { app, model, models, metrics, post };
}

/** Events of a finished SSE response; the last one must be [DONE]. */
export async function sseEvents(response: Response): Promise<any[]> {
  const text = await response.text();
  const events = text.split('\n\n').filter((e) => e !== '');
  if (events.pop() !== 'data: [DONE]') throw new Error(`the stream does not end in [DONE]: ${text.slice(-200)}`);
  return events.map((e) => JSON.parse(e.replace(/^data: /, '')) as unknown);
}

/** The body as loosely typed JSON. */
export async function jsonOf(response: Response | Promise<Response>): Promise<any> {
  return (await response).json();
}
