import { expect, test } from 'vitest';
import { jsonOf, sseEvents, testApp } from '../testing/test-app.js';

const hello = { model: 'fake', messages: [{ role: 'user', content: 'abc' }] };

test('an answer has the shape of a chat completion', async () => {
  const { post } = testApp();
  const response = await post('/v1/chat/completions', hello);
  expect(response.status).toBe(200);
  expect(await jsonOf(response)).toEqual({
    id: 'chatcmpl-id0',
    object: 'chat.completion',
    created: 1_700_000_001,
    model: 'fake',
    system_fingerprint: null,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'cba', refusal: null },
        logprobs: null,
        finish_reason: 'stop',
        stop_reason: null,
      },
    ],
    usage: { prompt_tokens: 3, completion_tokens: 3, total_tokens: 6, prompt_tokens_details: { cached_tokens: 3 } },
  });
});

test('a stream: role first, then text, the finish reason, usage alone at the end', async () => {
  const { post } = testApp();
  const response = await post('/v1/chat/completions', {
    ...hello,
    stream: true,
    stream_options: { include_usage: true },
  });
  expect(response.headers.get('content-type')).toContain('text/event-stream');
  const events = await sseEvents(response);
  expect(events[0].choices[0].delta).toEqual({ role: 'assistant', content: '' });
  expect(events.map((e) => e.choices[0]?.delta.content ?? '').join('')).toBe('cba');
  expect(events.at(-2).choices[0]).toMatchObject({ delta: {}, finish_reason: 'stop' });
  expect(events.at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 3 } });
  expect(events.slice(0, -1).every((e) => e.usage === null)).toBe(true);
});

test('n choices stream side by side and count together', async () => {
  const { post } = testApp();
  const events = await sseEvents(
    await post('/v1/chat/completions', { ...hello, n: 2, stream: true, stream_options: { include_usage: true } }),
  );
  for (const index of [0, 1]) {
    const own = events.filter((e) => e.choices[0]?.index === index);
    expect(own.map((e) => e.choices[0].delta.content ?? '').join('')).toBe('cba');
    expect(own.filter((e) => e.choices[0].delta.role).length).toBe(1);
  }
  expect(events.at(-1).usage.completion_tokens).toBe(6);
});

test('logprobs carry tokens, bytes and the best alternatives', async () => {
  const { post } = testApp();
  const body = await jsonOf(post('/v1/chat/completions', { ...hello, logprobs: true, top_logprobs: 2 }));
  const content = body.choices[0].logprobs.content;
  expect(content.map((t: { token: string }) => t.token).join('')).toBe('cba');
  expect(content[0].bytes).toEqual([99]);
  expect(content[0].top_logprobs).toHaveLength(2);
});

test.each([
  ['unknown field', { ...hello, foo: 1 }, 'foo'],
  ['temperature out of range', { ...hello, temperature: 3 }, 'temperature'],
  ['wrong type', { ...hello, max_tokens: 'ten' }, 'max_tokens'],
  ['unknown role', { ...hello, messages: [{ role: 'wizard', content: 'x' }] }, 'messages[0].role'],
  ['content of a wrong type', { ...hello, messages: [{ role: 'user', content: 5 }] }, 'messages[0].content'],
  [
    'image part',
    { ...hello, messages: [{ role: 'user', content: [{ type: 'image_url', image_url: {} }] }] },
    'messages[0].content[0].type',
  ],
  ['no messages', { model: 'fake', messages: [] }, 'messages'],
  ['tools', { ...hello, tools: [{ type: 'function' }] }, 'tools'],
  ['response_format', { ...hello, response_format: { type: 'json_object' } }, 'response_format.type'],
  ['stream_options without stream', { ...hello, stream_options: {} }, 'stream_options'],
  ['top_logprobs without logprobs', { ...hello, top_logprobs: 2 }, 'top_logprobs'],
  ['too long', { model: 'fake', messages: [{ role: 'user', content: 'x'.repeat(100) }] }, 'messages'],
  ['engine-side check', { ...hello, max_tokens: 2, min_tokens: 5 }, 'min_tokens'],
  ['refused by the template', { ...hello, messages: [{ role: 'tool', content: 'x' }] }, 'messages'],
])('%s: a 400 that names the field', async (_, body, param) => {
  const { post } = testApp();
  const response = await post('/v1/chat/completions', body);
  expect(response.status).toBe(400);
  const { error } = await jsonOf(response);
  expect(error.type).toBe('invalid_request_error');
  expect(error.param).toBe(param);
  expect(error.message.length).toBeGreaterThan(10);
});

test('an over-long prompt names both lengths', async () => {
  const { post } = testApp();
  const response = await post('/v1/chat/completions', {
    ...hello,
    messages: [{ role: 'user', content: 'x'.repeat(100) }],
  });
  const { error } = await jsonOf(response);
  expect(error.code).toBe('context_length_exceeded');
  expect(error.message).toContain('100');
  expect(error.message).toContain('64');
});

test('a client that leaves aborts its request', async () => {
  const { post, model } = testApp();
  let open!: () => void;
  const gate = new Promise<void>((resolve) => (open = resolve));
  let deltas = 0;
  model.gate = () => (++deltas > 1 ? gate : Promise.resolve());
  const response = await post('/v1/chat/completions', { ...hello, stream: true });
  const reader = response.body!.getReader();
  await reader.read();
  const cancelled = reader.cancel();
  open();
  await cancelled;
  expect(model.requests[0]!.signal.aborted).toBe(true);
});

test('an error in mid-stream arrives as an event, and the stream ends', async () => {
  const { post, model } = testApp();
  model.failAfter = { deltas: 1, error: new Error('secret detail') };
  const events = await sseEvents(await post('/v1/chat/completions', { ...hello, stream: true }));
  expect(events.at(-1).error).toMatchObject({ type: 'server_error', code: 'internal_error' });
  expect(JSON.stringify(events)).not.toContain('secret detail');
});
