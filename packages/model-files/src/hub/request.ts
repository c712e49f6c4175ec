import { HubError, HubNotFoundError, HubUnauthorizedError } from './errors.js';
import type { HubSettings } from './settings.js';

/** Thrown for failures that another attempt may not have; never leaves this folder. */
export class RetryableError extends HubError {
  constructor(
    message: string,
    readonly retryAfter: number | undefined,
    options?: ErrorOptions,
  ) {
    super(message, {}, options);
  }
}

/** Runs `attempt` until it succeeds, fails for good, or the number of attempts is used up. */
export async function withRetries<T>(settings: HubSettings, attempt: () => Promise<T>): Promise<T> {
  for (let n = 1; ; n++) {
    try {
      return await attempt();
    } catch (error) {
      settings.signal?.throwIfAborted();
      if (!(error instanceof RetryableError) || n >= settings.attempts) {
        if (error instanceof RetryableError)
          throw new HubError(`${error.message} (${n} attempts)`, {}, { cause: error.cause ?? error });
        throw error;
      }
      await settings.wait(error.retryAfter ?? Math.min(30_000, 500 * 2 ** (n - 1)));
    }
  }
}

function waitAsked(response: Response): number | undefined {
  const seconds = Number(response.headers.get('retry-after'));
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds, 60) * 1000 : undefined;
}

/**
 * One request. Answers 2xx pass; 401 and 403, 404 and other statuses become typed errors; broken connections, 408, 429
 * and 5xx can be retried.
 */
export async function request(
  url: string,
  settings: HubSettings,
  repo: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, {
      headers: {
        'user-agent': 'dsi',
        ...(settings.token !== undefined && { authorization: `Bearer ${settings.token}` }),
        ...headers,
      },
      ...(settings.signal && { signal: settings.signal }),
    });
  } catch (cause) {
    settings.signal?.throwIfAborted();
    throw new RetryableError(`cannot reach ${new URL(url).host}: ${(cause as Error).message}`, undefined, { cause });
  }
  if (response.ok) return response;
  await response.body?.cancel();
  const { status } = response;
  const details = { url, repo, status };
  if (status === 401 || status === 403)
    throw new HubUnauthorizedError(
      settings.token === undefined
        ? `${repo}: access denied (HTTP ${status}). The repository is private, gated, or does not exist: set HF_TOKEN.`
        : `${repo}: access denied (HTTP ${status}). Check the token and whether the model's terms were accepted.`,
      details,
    );
  if (status === 404)
    throw new HubNotFoundError(`${repo}: not found at ${url}. Check the name and the revision.`, details);
  if (status === 408 || status === 429 || status >= 500)
    throw new RetryableError(`${url} answered HTTP ${status}`, waitAsked(response));
  throw new HubError(`${url} answered HTTP ${status}`, details);
}
