import OpenAI from 'openai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { dsiServe, type ServerProcess } from './dsi-command.js';

let server: ServerProcess;
let client: OpenAI;
const model = 'dsi-mini-moe';
const whoAreYou = [{ role: 'user' as const, content: 'Who are you?' }];

beforeAll(async () => {
  server = await dsiServe(['--max-num-seqs', '16']);
  client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none', maxRetries: 0 });
});
afterAll(async () => {
  expect(await server.stop()).toBe(0);
});

async function metric(name: string): Promise<number> {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  return Number(new RegExp(`^${name}\\{[^}]*\\} (\\S+)$`, 'm').exec(text)![1]);
}

test('the curl line that the server prints works', async () => {
  const line = /curl (\S+) .* -d '(.*)'/.exec(server.output())!;
  const response = await fetch(line[1]!, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: line[2]!,
  });
  expect(response.status).toBe(200);
});

test('a chat answers sensibly, streamed and not, with equal text', async () => {
  const whole = await client.chat.completions.create({ model, messages: whoAreYou, temperature: 0 });
  expect(whole.choices[0]!.message.content).toContain('dsi-mini');
  expect(whole.choices[0]!.finish_reason).toBe('stop');
  const stream = await client.chat.completions.create({
    model,
    messages: whoAreYou,
    temperature: 0,
    stream: true,
    stream_options: { include_usage: true },
  });
  let text = '';
  let usage: OpenAI.CompletionUsage | null | undefined;
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta.content ?? '';
    usage = chunk.usage ?? usage;
  }
  expect(text).toBe(whole.choices[0]!.message.content);
  expect(usage).toMatchObject({
    prompt_tokens: whole.usage!.prompt_tokens,
    completion_tokens: whole.usage!.completion_tokens,
  });
});

test('a seed gives the same answer alone and beside fifteen others', async () => {
  const ask = (content: string, seed: number) =>
    client.chat.completions.create({
      model,
      messages: [{ role: 'user', content }],
      temperature: 0.8,
      seed,
      max_tokens: 48,
    });
  const alone = await ask('Write a function.', 7);
  const [beside] = await Promise.all([
    ask('Write a function.', 7),
    ...Array.from({ length: 15 }, (_, i) => ask(`Question ${i}: how do I install a package?`, i)),
  ]);
  expect(beside!.choices[0]!.message.content).toBe(alone.choices[0]!.message.content);
});

test('n choices, logprobs with bytes, stop strings', async () => {
  const several = await client.chat.completions.create({
    model,
    messages: whoAreYou,
    n: 3,
    seed: 1,
    temperature: 1,
    max_tokens: 12,
  });
  expect(several.choices.map((c) => c.index)).toEqual([0, 1, 2]);
  const scored = await client.chat.completions.create({
    model,
    messages: whoAreYou,
    temperature: 0,
    logprobs: true,
    top_logprobs: 3,
    max_tokens: 8,
  });
  const content = scored.choices[0]!.logprobs!.content!;
  expect(content).toHaveLength(8);
  expect(Buffer.from(content.flatMap((t) => t.bytes ?? [])).toString()).toBe(scored.choices[0]!.message.content);
  for (const token of content) {
    expect(token.logprob).toBeLessThanOrEqual(0);
    expect(token.top_logprobs[0]!.logprob).toBeCloseTo(token.logprob, 6);
  }
  const stopped = await client.chat.completions.create({
    model,
    messages: whoAreYou,
    temperature: 0,
    stop: ['small language'],
  });
  expect(stopped.choices[0]!.message.content).not.toContain('small language');
  expect(stopped.choices[0]!.message.content!.length).toBeGreaterThan(5);
});

test('completions: text, ids, echo with the prompt’s logprobs', async () => {
  const byText = await client.completions.create({
    model,
    prompt: 'export function add(',
    max_tokens: 16,
    temperature: 0,
  });
  const { tokens } = (await (
    await fetch(`${server.url}/tokenize`, { method: 'POST', body: JSON.stringify({ prompt: 'export function add(' }) })
  ).json()) as { tokens: number[] };
  const byIds = await client.completions.create({ model, prompt: tokens, max_tokens: 16, temperature: 0 });
  expect(byIds.choices[0]!.text).toBe(byText.choices[0]!.text);
  const echoed = await client.completions.create({
    model,
    prompt: tokens,
    max_tokens: 1,
    echo: true,
    logprobs: 1,
    temperature: 0,
  });
  const { token_logprobs: logprobs } = echoed.choices[0]!.logprobs!;
  expect(logprobs).toHaveLength(tokens.length + 1);
  expect(logprobs![0]).toBeNull();
  expect(logprobs!.slice(1).every((p) => typeof p === 'number' && p <= 0)).toBe(true);
});

test('an over-long prompt is a 400 with both lengths, and the next request is fine', async () => {
  const words = 'word '.repeat(6000);
  const error = await client.chat.completions
    .create({ model, messages: [{ role: 'user', content: words }] })
    .catch((e: unknown) => e);
  expect(error).toBeInstanceOf(OpenAI.BadRequestError);
  expect((error as { code: string }).code).toBe('context_length_exceeded');
  expect((error as Error).message).toContain('4096');
  const next = await client.chat.completions.create({ model, messages: whoAreYou, temperature: 0, max_tokens: 4 });
  expect(next.usage!.completion_tokens).toBe(4);
});

test('a client that hangs up frees its blocks within a step', async () => {
  const before = await metric('vllm:kv_cache_usage_perc');
  const controllers = Array.from({ length: 6 }, () => new AbortController());
  const streams = controllers.map(async (controller, i) => {
    const stream = await client.completions.create(
      { model, prompt: `// file ${i}\n`, max_tokens: 3000, temperature: 1, stream: true, ...{ ignore_eos: true } },
      { signal: controller.signal },
    );
    let chunks = 0;
    try {
      for await (const _ of stream) if (++chunks === 5) controller.abort();
    } catch {
      // aborted
    }
  });
  await Promise.all(streams);
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(await metric('vllm:num_requests_running')).toBe(0);
  expect(await metric('vllm:kv_cache_usage_perc')).toBe(before);
});

test('a prefix is found again and counted', async () => {
  const messages = [{ role: 'user' as const, content: `${'Explain what this does. '.repeat(20)}Thanks.` }];
  const first = await client.chat.completions.create({ model, messages, max_tokens: 4, temperature: 0 });
  const second = await client.chat.completions.create({ model, messages, max_tokens: 4, temperature: 0 });
  expect(second.usage!.prompt_tokens_details!.cached_tokens).toBeGreaterThan(0);
  expect(second.choices[0]!.message.content).toBe(first.choices[0]!.message.content);
});

test('sixteen requests at once all complete, and the event loop’s delay is reported', async () => {
  const answers = await Promise.all(
    Array.from({ length: 16 }, (_, i) =>
      client.completions.create({
        model,
        prompt: `const value${i} = `,
        max_tokens: 64,
        temperature: 0,
        ...{ ignore_eos: true },
      }),
    ),
  );
  const text = await (await fetch(`${server.url}/metrics`)).text();
  const p99 = Number(/^dsi_http_event_loop_delay_p99_seconds (\S+)$/m.exec(text)![1]);
  expect(answers.map((a) => a.usage!.completion_tokens)).toEqual(Array.from({ length: 16 }, () => 64));
  expect(Number.isFinite(p99)).toBe(true);
});
