import { expect, test } from 'vitest';
import { jsonOf, sseEvents, testApp } from '../testing/test-app.js';

test('one prompt as text, as ids; several; n each', async () => {
  const { post } = testApp();
  const texts = async (body: object) => {
    const { choices } = await jsonOf(post('/v1/completions', { model: 'fake', ...body }));
    return choices.map((c: { index: number; text: string }) => `${c.index}:${c.text}`);
  };
  expect(await texts({ prompt: 'abc' })).toEqual(['0:cba']);
  expect(await texts({ prompt: [97, 98] })).toEqual(['0:ba']);
  expect(await texts({ prompt: ['ab', 'cd'], n: 2 })).toEqual(['0:ba', '1:ba', '2:dc', '3:dc']);
  expect(await texts({ prompt: [[97], [98, 99]] })).toEqual(['0:a', '1:cb']);
});

test('echo with logprobs covers prompt and answer; max_tokens 0 gives the prompt alone', async () => {
  const { post } = testApp();
  const full = await jsonOf(post('/v1/completions', { model: 'fake', prompt: 'ab', echo: true, logprobs: 1 }));
  expect(full.choices[0].text).toBe('abba');
  expect(full.choices[0].logprobs).toMatchObject({ tokens: ['a', 'b', 'b', 'a'], text_offset: [0, 1, 2, 3] });
  expect(full.choices[0].logprobs.token_logprobs).toEqual([null, -0.5, -0.5, -0.5]);
  const promptOnly = await jsonOf(
    post('/v1/completions', { model: 'fake', prompt: 'ab', echo: true, logprobs: 1, max_tokens: 0 }),
  );
  expect(promptOnly.choices[0]).toMatchObject({
    text: 'ab',
    finish_reason: 'length',
    logprobs: { tokens: ['a', 'b'] },
  });
  expect(promptOnly.usage.completion_tokens).toBe(0);
});

test('a stream of several prompts ends with usage', async () => {
  const { post } = testApp();
  const events = await sseEvents(
    await post('/v1/completions', {
      model: 'fake',
      prompt: ['ab', 'cd'],
      stream: true,
      stream_options: { include_usage: true },
    }),
  );
  const text = (index: number) =>
    events
      .filter((e) => e.choices[0]?.index === index)
      .map((e) => e.choices[0].text)
      .join('');
  expect([text(0), text(1)]).toEqual(['ba', 'dc']);
  expect(events.at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 4, completion_tokens: 4 } });
});

test.each([
  ['empty prompt', { prompt: '' }, 'prompt'],
  ['prompt of a wrong type', { prompt: [1.5] }, 'prompt[0]'],
  ['texts and ids mixed', { prompt: ['x', 1] }, 'prompt[1]'],
  ['too many prompts', { prompt: Array.from({ length: 1025 }, () => 'x') }, 'prompt'],
  ['a text beyond any context', { prompt: 'x'.repeat(6000) }, 'prompt'],
  ['half a surrogate pair', { prompt: '\ud800 x' }, 'prompt'],
  ['negative id', { prompt: [-1] }, 'prompt[0]'],
  ['best_of above n', { prompt: 'x', best_of: 3 }, 'best_of'],
  ['suffix', { prompt: 'x', suffix: 'y' }, 'suffix'],
  ['max_tokens 0 without echo', { prompt: 'x', max_tokens: 0 }, 'max_tokens'],
  ['second prompt too long', { prompt: ['x', 'y'.repeat(80)] }, 'prompt[1]'],
])('%s: a 400 that names the field', async (_, body, param) => {
  const { post, model } = testApp();
  const response = await post('/v1/completions', { model: 'fake', ...body });
  expect(response.status).toBe(400);
  expect((await jsonOf(response)).error.param).toBe(param);
  expect(model.requests.every((r) => r.params === undefined || r.signal.aborted || model.requests.length === 1)).toBe(
    true,
  );
});
