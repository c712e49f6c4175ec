import { Hono } from 'hono';
import type { Logger } from 'pino';
import { ApiError } from './http/api-error.js';
import type { ServerContext } from './http/context.js';
import { chatCompletions } from './openai/chat.js';
import { completions } from './openai/completions.js';
import { getModel, listModels } from './openai/models.js';
import { detokenize, tokenize } from './tokenize.js';
import { version } from './version.js';

export interface AppOptions extends ServerContext {
  readonly log: Logger;
}

/** The routes. Every handler takes the web-standard Request and gives a Response, so tests need no socket. */
export function createApp(options: AppOptions): Hono {
  const { models, metrics, log } = options;
  const app = new Hono();

  app.get('/', (c) =>
    c.text(
      `DSI ${version}: an OpenAI-compatible server. POST /v1/chat/completions, /v1/completions; GET /v1/models, /health, /metrics.\n`,
    ),
  );
  app.get('/health', (c) => {
    const { phase, progress, message } = models.state;
    const body = { status: phase, progress, ...(message === undefined ? {} : { message }) };
    return c.json(body, phase === 'ready' ? 200 : 503);
  });
  app.get('/version', (c) => c.json({ version }));
  app.get('/metrics', async (c) => c.body(await metrics.text(), 200, { 'content-type': metrics.registry.contentType }));

  app.get('/v1/models', () => listModels(options));
  app.get('/v1/models/*', (c) => getModel(decoded(c.req.path.slice('/v1/models/'.length)), options));
  for (const prefix of ['/v1', '']) {
    app.post(`${prefix}/chat/completions`, (c) => chatCompletions(c.req.raw, options));
    app.post(`${prefix}/completions`, (c) => completions(c.req.raw, options));
  }
  app.post('/tokenize', (c) => tokenize(c.req.raw, options));
  app.post('/detokenize', (c) => detokenize(c.req.raw, options));

  app.notFound((c) => {
    const allowed = app.routes.filter((r) => r.path === c.req.path && r.method !== 'ALL').map((r) => r.method);
    return allowed.length > 0
      ? new ApiError(405, `${c.req.method} is not allowed for ${c.req.path}; use ${allowed.join(', ')}.`, {
          headers: { allow: allowed.join(', ') },
        }).toResponse()
      : new ApiError(404, `There is no ${c.req.method} ${c.req.path} on this server.`, {
          code: 'not_found',
        }).toResponse();
  });
  app.onError((error, c) => {
    if (error instanceof ApiError) return error.toResponse();
    if (c.req.raw.signal.aborted) {
      log.debug('the client hung up');
      return new ApiError(499, 'The client closed the request.').toResponse();
    }
    log.error({ err: error }, 'request failed');
    return new ApiError(500, 'The request failed inside the server.', { code: 'internal_error' }).toResponse();
  });
  return app;
}

/** A path segment as text; one that is no valid escape names no model. */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
