import { expect, test } from 'vitest';
import {
  ContextLengthError,
  InvalidParameterError,
  KvCapacityError,
  NumericalError,
  QueueFullError,
  StepFailedError,
} from '../src/errors/request-errors.js';
import type { StepBudget } from '../src/core/token-budget.js';
import { collect, eosTokenId, openHarness, promptOf, request } from './core-harness.js';

async function alone(length: number, params: Parameters<typeof request>[1], salt = 0) {
  const { client } = await openHarness();
  const result = await collect(client.add(request(promptOf(length, salt), params)));
  await client.close();
  return result;
}

test('greedy text ends by length, with usage and metrics', async () => {
  const { client } = await openHarness();
  const stream = client.add(request(promptOf(10), { temperature: 0, maxTokens: 5, ignoreEos: true }));
  const { tokens, texts, reasons, deltas } = await collect(stream);
  expect(tokens[0]).toHaveLength(5);
  expect(texts[0]).toBe(tokens[0]!.map((id) => `<${id}>`).join(''));
  expect(reasons).toEqual(['length']);
  expect(deltas.at(-1)).toMatchObject({ completionTokens: 5, promptTokens: 10, cachedTokens: 0 });
  expect(stream.metrics).toMatchObject({
    promptTokens: 10,
    completionTokens: 5,
    finishReason: 'length',
    numChoices: 1,
  });
  expect(stream.metrics!.timeToFirstTokenMs).toBeGreaterThanOrEqual(0);
  await client.checkIntegrity();
  await client.close();
});

test('a request does not depend on its batch, its chunks, hits or preemption', async () => {
  const params = { temperature: 0.8, seed: 5, maxTokens: 20, ignoreEos: true };
  const reference = await alone(30, params);
  const cases = [
    openHarness({ maxNumBatchedTokens: 8 }),
    openHarness({ maxNumBatchedTokens: 9, maxNumSeqs: 2 }),
    openHarness({ numBlocks: 24, maxNumSeqs: 8 }),
    openHarness(),
    openHarness({ budget: jitter() }),
  ];
  for (const opening of cases) {
    const { client, kv } = await openingHarness(opening);
    const strangers = [1, 2, 3, 4, 5].map((salt) =>
      collect(client.add(request(promptOf(20, salt), { maxTokens: 12, seed: salt }))),
    );
    const first = collect(client.add(request(promptOf(30), params)));
    await Promise.all([...strangers, first]);
    const hit = await collect(client.add(request(promptOf(30), params)));
    expect((await first).tokens).toEqual(reference.tokens);
    expect(hit.tokens).toEqual(reference.tokens);
    await client.checkIntegrity();
    expect(kv.stats().usedBlocks).toBe(0);
    await client.close();
  }
});

const openingHarness = <T>(opening: Promise<T>) => opening;

/** A budget that is another one at every step, down to less than the running sequences need. */
function jitter(): StepBudget & { readonly seen: number[] } {
  const values = [1, 64, 3, 17, 9, 40, 2];
  const seen: number[] = [];
  return {
    seen,
    get current() {
      return values[seen.length % values.length]!;
    },
    observe: (tokens) => seen.push(tokens),
  };
}

test('the budget acts on the next step, busy or not', async () => {
  const budget = jitter();
  const { client } = await openHarness({ budget });
  const one = collect(client.add(request(promptOf(60), { maxTokens: 3, temperature: 0, ignoreEos: true })));
  const two = collect(client.add(request(promptOf(60, 1), { maxTokens: 3, temperature: 0, ignoreEos: true })));
  await Promise.all([one, two]);
  // 1, then 64 of which 59 end the first prompt and 5 begin the second, then the floor of one decode and the rest of 3 ...
  expect(budget.seen.slice(0, 5)).toEqual([1, 64, 3, 17, 9]);
  expect((await client.queryStats()).steps).toBe(budget.seen.length);
  await client.checkIntegrity();
  await client.close();
});

test('a second request takes the cached prefix, except with prompt logprobs', async () => {
  const { client, runner } = await openHarness();
  await collect(client.add(request(promptOf(40), { maxTokens: 2, temperature: 0 })));
  const before = runner.computedTokens;
  const hit = await collect(client.add(request(promptOf(40), { maxTokens: 1, temperature: 0 })));
  expect(hit.deltas[0]!.cachedTokens).toBe(36);
  expect(runner.computedTokens - before).toBe(4);
  const scored = await collect(client.add(request(promptOf(40), { maxTokens: 1, promptLogprobs: 2 })));
  expect(scored.deltas[0]!.cachedTokens).toBe(0);
  const list = scored.deltas[0]!.promptLogprobs!;
  expect(list).toHaveLength(40);
  expect(list[0]).toBeNull();
  expect(list.slice(1).map((entry) => entry!.id)).toEqual(promptOf(40).slice(1));
  expect(list[7]!.topIds).toEqual([0, 1]);
  await client.close();
});

test('prompt logprobs survive chunking, once each', async () => {
  const { client } = await openHarness({ maxNumBatchedTokens: 8, maxNumSeqs: 2 });
  const { deltas } = await collect(client.add(request(promptOf(50), { maxTokens: 1, promptLogprobs: 0 })));
  expect(deltas[0]!.promptLogprobs!.slice(1).map((entry) => entry!.id)).toEqual(promptOf(50).slice(1));
  await client.close();
});

test('n choices share the prompt and each equals itself alone', async () => {
  const { client, runner, kv } = await openHarness();
  const params = { temperature: 1, seed: 9, maxTokens: 6, ignoreEos: true };
  const four = await collect(client.add(request(promptOf(21), { ...params, n: 4 })));
  expect(new Set(four.tokens.map(String)).size).toBe(4);
  expect(four.reasons).toEqual(['length', 'length', 'length', 'length']);
  expect(runner.computedTokens).toBeLessThan(21 + 4 * 6);
  const one = await collect(client.add(request(promptOf(21), params)));
  expect(one.tokens[0]).toEqual(four.tokens[0]);
  await client.checkIntegrity();
  expect(kv.stats().usedBlocks).toBe(0);
  await client.close();
});

test('more choices than seats, and choices that end at once', async () => {
  const { client, kv } = await openHarness({ maxNumSeqs: 2, maxNumBatchedTokens: 16 });
  const many = await collect(client.add(request(promptOf(21), { seed: 3, n: 6, maxTokens: 4, ignoreEos: true })));
  expect(many.tokens.map((t) => t.length)).toEqual([4, 4, 4, 4, 4, 4]);
  const single = await collect(client.add(request(promptOf(21), { seed: 3, n: 6, maxTokens: 1, ignoreEos: true })));
  expect(single.tokens.map((t) => t[0])).toEqual(many.tokens.map((t) => t[0]));
  const stopped = await collect(
    client.add(
      request(promptOf(21), { seed: 3, n: 6, maxTokens: 4, ignoreEos: true, stopTokenIds: [many.tokens[0]![0]!] }),
    ),
  );
  expect(stopped.reasons[0]).toBe('stop');
  expect(stopped.stopReasons[0]).toBe(many.tokens[0]![0]);
  expect(stopped.tokens.slice(1).filter((_, i) => stopped.reasons[i + 1] === 'length')).toEqual(
    many.tokens.slice(1).filter((_, i) => stopped.reasons[i + 1] === 'length'),
  );
  await client.checkIntegrity();
  expect(kv.stats().usedBlocks).toBe(0);
  await client.close();
});

test('stop strings cut the text, over token borders', async () => {
  const params = { temperature: 0, maxTokens: 8, ignoreEos: true };
  const { tokens } = await alone(10, params);
  const [a, b, c] = tokens[0]!;
  const stop = `${b}><${String(c)[0]}`;
  const cut = await alone(10, { ...params, stop: ['zzz', stop] });
  expect(cut.texts[0]).toBe(`<${a}><`);
  expect(cut.reasons).toEqual(['stop']);
  expect(cut.stopReasons).toEqual([stop]);
  expect(cut.tokens[0]).toEqual([a, b, c]);
  const kept = await alone(10, { ...params, stop, includeStopStrInOutput: true });
  expect(kept.texts[0]).toBe(`<${a}><${stop}`);
});

test('stop ids, end of sequence and minTokens', async () => {
  const params = { temperature: 0, maxTokens: 8, ignoreEos: true };
  const { tokens } = await alone(10, params);
  const [a, b] = tokens[0]!;
  const stopped = await alone(10, { ...params, stopTokenIds: [b!] });
  expect(stopped).toMatchObject({ texts: [`<${a}>`], reasons: ['stop'], stopReasons: [b] });
  expect(stopped.tokens[0]).toEqual([a, b]);
  const later = await alone(10, { ...params, stopTokenIds: [b!], minTokens: 4 });
  expect(later.tokens[0]!.length).toBeGreaterThanOrEqual(4);
  expect(later.tokens[0]!.slice(0, 4)).not.toContain(b);
  const withText = await alone(10, { ...params, stop: `<${a}>`, minTokens: 1 });
  expect(withText.texts[0]!.startsWith(`<${a}>`)).toBe(true);
});

test('the end-of-sequence token ends, silently, and ignoreEos goes on', async () => {
  let salt = 0;
  for (; ; salt++) {
    const { tokens } = await alone(6, { temperature: 0, maxTokens: 40, ignoreEos: true }, salt);
    if (tokens[0]!.includes(eosTokenId)) break;
  }
  const { tokens, texts, reasons, stopReasons } = await alone(6, { temperature: 0, maxTokens: 40 }, salt);
  expect(tokens[0]!.at(-1)).toBe(eosTokenId);
  expect(texts[0]).not.toContain(`<${eosTokenId}>`);
  expect({ reasons, stopReasons }).toEqual({ reasons: ['stop'], stopReasons: [undefined] });
});

test('logit bias and bad words reach the draw', async () => {
  const params = { temperature: 0, maxTokens: 8, ignoreEos: true };
  const [a, b] = (await alone(10, params)).tokens[0]!;
  const { client } = await openHarness();
  const plain = request(promptOf(10), params);
  const without = { ...plain, sampling: { ...plain.sampling, badWordIds: [[a!, b!]] } };
  const result = await collect(client.add(without));
  expect(result.tokens[0]![0]).toBe(a);
  expect(result.tokens[0]![1]).not.toBe(b);
  await client.close();
});

test('what can never run is refused with both figures; the next request completes', async () => {
  const { client } = await openHarness({ numBlocks: 9, maxModelLen: 64 });
  const failing: [Parameters<typeof request>, new (...args: never[]) => Error, object][] = [
    [[promptOf(64)], ContextLengthError, { promptTokens: 64, maxModelLen: 64 }],
    [[promptOf(10), { maxTokens: 60 }], ContextLengthError, { promptTokens: 10, maxTokens: 60 }],
    [[promptOf(30), { maxTokens: 10 }], KvCapacityError, { neededTokens: 40, capacityTokens: 32 }],
    [[[]], InvalidParameterError, { field: 'prompt' }],
    [[[vocabSizePlus]], InvalidParameterError, { value: vocabSizePlus }],
    [[promptOf(3), { n: 100 }], InvalidParameterError, { field: 'n', value: 100 }],
  ];
  for (const [args, type, fields] of failing) {
    const error: unknown = await collect(client.add(request(...args))).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(type);
    expect(error).toMatchObject(fields);
  }
  const fine = await collect(client.add(request(promptOf(10), { ignoreEos: true })));
  expect(fine.tokens[0]).toHaveLength(22);
  await client.close();
});

const vocabSizePlus = 1000;

test('non-finite logits fail their request alone, and leave nothing in the prefix cache', async () => {
  const { client, kv } = await openHarness({ isBad: (token, position) => token === 150 && position === 20 });
  const good = collect(client.add(request(promptOf(20, 1), { maxTokens: 10, temperature: 0, ignoreEos: true })));
  const bad = [...promptOf(20, 2), 150, ...promptOf(9, 3)];
  await expect(collect(client.add(request(bad, { maxTokens: 10 })))).rejects.toThrow(NumericalError);
  expect((await good).reasons).toEqual(['length']);
  expect(kv.matchPrefix(Int32Array.from(bad), bad.length).numTokens).toBe(0);
  await client.checkIntegrity();
  await client.close();
});

test('a failed step fails its requests; the engine goes on', async () => {
  let fail = false;
  const { client, kv } = await openHarness({
    onStep: () => {
      if (fail) throw new Error('device lost');
    },
  });
  fail = true;
  const failed: unknown = await collect(client.add(request(promptOf(20), { n: 2 }))).catch((e: unknown) => e);
  expect(failed).toBeInstanceOf(StepFailedError);
  expect(String(failed)).toContain('device lost');
  fail = false;
  expect(kv.stats().usedBlocks).toBe(0);
  expect(kv.stats().cachedBlocks).toBe(0);
  const fine = await collect(client.add(request(promptOf(20), { maxTokens: 3, ignoreEos: true })));
  expect(fine.tokens[0]).toHaveLength(3);
  await client.checkIntegrity();
  await client.close();
});

test('a full queue refuses with its limit', async () => {
  const { client } = await openHarness({ maxNumSeqs: 1, maxQueueSize: 1 });
  const results = await Promise.allSettled(
    [1, 2, 3, 4].map((salt) => collect(client.add(request(promptOf(8, salt), { maxTokens: 3 })))),
  );
  const refused = results
    .filter((r) => r.status === 'rejected')
    .map((r) => (r as PromiseRejectedResult).reason as unknown);
  expect(refused.length).toBeGreaterThan(0);
  for (const error of refused) expect(error).toMatchObject({ code: 'queue_full', limit: 1 });
  expect(refused[0]).toBeInstanceOf(QueueFullError);
  await client.close();
});

test('a drawn seed is returned and gives the same tokens again', async () => {
  const { client } = await openHarness();
  const params = { maxTokens: 8, ignoreEos: true };
  const first = await collect(client.add(request(promptOf(9), params)));
  const { seed } = first.deltas[0]!;
  const again = await collect(client.add(request(promptOf(9), { ...params, seed })));
  expect(again.tokens).toEqual(first.tokens);
  const other = await collect(client.add(request(promptOf(9), { ...params, seed: seed ^ 1n })));
  expect(other.tokens).not.toEqual(first.tokens);
  await client.close();
});
