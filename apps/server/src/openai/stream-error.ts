import { ApiError } from '../http/api-error.js';
import { sseEvent } from '../http/sse.js';

/** An error inside a stream that has begun: the status line is gone, so it travels as an event, as OpenAI's clients expect. */
export function streamError(error: unknown): string {
  const shown =
    error instanceof ApiError
      ? error
      : new ApiError(500, 'The request failed inside the server.', { code: 'internal_error' });
  return sseEvent(shown.body());
}
