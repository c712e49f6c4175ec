import { expect, test } from 'vitest';
import { jsonOf, testApp } from './testing/test-app.js';

test('bad JSON, bad UTF-8, too large: OpenAI errors', async () => {
  const { post } = testApp({ maxBodyBytes: 1000 });
  expect(await jsonOf(post('/v1/chat/completions', '{"model":'))).toMatchObject({
    error: { code: 'invalid_json' },
  });
  const broken = new Uint8Array([0x7b, 0xff, 0x7d]);
  expect(await jsonOf(post('/v1/completions', '', { body: broken }))).toMatchObject({
    error: { code: 'invalid_utf8' },
  });
  const large = await post('/v1/completions', { model: 'fake', prompt: 'x'.repeat(2000) });
  expect(large.status).toBe(413);
});

test('unknown model 404, unknown path 404, wrong method 405', async () => {
  const { app, post } = testApp();
  const missing = await post('/v1/completions', { model: 'gpt-5', prompt: 'x' });
  expect(missing.status).toBe(404);
  expect(await missing.json()).toMatchObject({ error: { code: 'model_not_found', param: 'model' } });
  expect((await app.request('/v1/nothing')).status).toBe(404);
  const method = await app.request('/v1/chat/completions');
  expect(method.status).toBe(405);
  expect(method.headers.get('allow')).toBe('POST');
});

test('while loading: health and requests say 503', async () => {
  const { app, post, models } = testApp({ ready: false });
  models.setState({ phase: 'loading', progress: 0.5 });
  const health = await app.request('/health');
  expect(health.status).toBe(503);
  expect(await health.json()).toEqual({ status: 'loading', progress: 0.5 });
  const response = await post('/v1/completions', { model: 'fake', prompt: 'x' });
  expect(response.status).toBe(503);
  expect(response.headers.get('retry-after')).toBe('2');
});

test('models, by name and alias', async () => {
  const { app, post } = testApp();
  const list = await jsonOf(app.request('/v1/models'));
  expect(list).toMatchObject({ object: 'list', data: [{ id: 'fake', object: 'model', max_model_len: 64 }] });
  expect((await app.request('/v1/models/alias/of-fake')).status).toBe(200);
  expect((await app.request('/v1/models/other')).status).toBe(404);
  expect((await app.request('/v1/models/%E0%A4%A')).status).toBe(404);
  expect((await post('/v1/completions', { model: 'alias/of-fake', prompt: 'ab' })).status).toBe(200);
});

test('metrics have the known names', async () => {
  const { app, metrics } = testApp();
  metrics.finished({
    finishReason: 'stop',
    promptTokens: 3,
    generationTokens: 5,
    n: 1,
    maxTokens: 9,
    totalSeconds: 0.2,
    firstTokenSeconds: 0.1,
  });
  metrics.step(4, [0.01]);
  const text = await (await app.request('/metrics')).text();
  for (const line of [
    'vllm:num_requests_running{model_name="fake"} 1',
    'vllm:num_requests_waiting{model_name="fake"} 2',
    'vllm:kv_cache_usage_perc{model_name="fake"} 0.25',
    'vllm_kv_cache_usage_pct{model_name="fake"} 25',
    'vllm:prefix_cache_queries_total{model_name="fake"} 10',
    'vllm:prefix_cache_hits_total{model_name="fake"} 4',
    'vllm:num_preemptions_total{model_name="fake"} 0',
    'vllm:request_success_total{model_name="fake",finished_reason="stop"} 1',
    'vllm:time_to_first_token_seconds_bucket{le="0.001",model_name="fake"} 0',
    'vllm_decode_latency_seconds_bucket{le="0.01",model_name="fake"} 1',
  ]) {
    expect(text).toContain(line);
  }
});

test('tokenize and detokenize', async () => {
  const { post } = testApp();
  expect(await jsonOf(post('/tokenize', { prompt: 'ab' }))).toEqual({
    count: 2,
    max_model_len: 64,
    tokens: [97, 98],
  });
  expect(await jsonOf(post('/tokenize', { messages: [{ role: 'user', content: 'ab' }] }))).toMatchObject({
    count: 2,
  });
  expect(await jsonOf(post('/detokenize', { tokens: [97, 98] }))).toEqual({ prompt: 'ab' });
  const bad = await post('/detokenize', { tokens: [97, 999] });
  expect(bad.status).toBe(400);
  expect(await bad.json()).toMatchObject({ error: { param: 'tokens[1]' } });
  expect((await post('/tokenize', {})).status).toBe(400);
});
