/** Ends an OpenAI stream. */
const doneEvent = 'data: [DONE]\n\n';
const encoder = new TextEncoder();

export interface SseOptions {
  /** Called once when the client is gone before the stream's end. */
  readonly onCancel: () => void;
  /** Milliseconds without an event after which a comment keeps proxies from closing the connection. */
  readonly keepAliveMs?: number;
}

/** One server-sent event. JSON holds no line breaks, so one `data:` line is enough. */
export function sseEvent(data: unknown): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

/**
 * A response that streams what `events` yields (strings made by {@link sseEvent}) and then `[DONE]`. Pull-driven: a slow client slows the
 * generator, not the event loop. When the client leaves, the generator is returned and `onCancel` is called.
 */
export function sseResponse(events: AsyncGenerator<string>, options: SseOptions): Response {
  let finished = false;
  let timer: NodeJS.Timeout | undefined;
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (options.keepAliveMs !== undefined) {
        timer = setTimeout(() => controller.enqueue(encoder.encode(': keep-alive\n\n')), options.keepAliveMs);
      }
      try {
        const { done, value } = await events.next();
        if (finished) return;
        if (done) {
          finished = true;
          controller.enqueue(encoder.encode(doneEvent));
          controller.close();
        } else {
          controller.enqueue(encoder.encode(value));
        }
      } finally {
        clearTimeout(timer);
      }
    },
    async cancel() {
      clearTimeout(timer);
      if (finished) return;
      finished = true;
      options.onCancel();
      await events.return(undefined).catch(() => undefined);
    },
  });
  return new Response(stream, {
    headers: {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      connection: 'keep-alive',
      'x-accel-buffering': 'no',
    },
  });
}
