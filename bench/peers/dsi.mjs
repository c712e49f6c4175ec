// The same measurement as node-llama-cpp.mjs, on our engine: node peers/dsi.mjs MODEL '{"prompts":[[ids]],"generate":64,"threads":2}' -> JSON on the last line.
import { LLM } from '@dsi/engine';

const [, , model, json] = process.argv;
const { prompts, generate, threads, contextSize = 1024 } = JSON.parse(json);

const start = performance.now();
const llm = await LLM.load({
  model,
  threads,
  maxModelLen: contextSize,
  maxNumSeqs: 1,
  prefixCaching: false,
  maxStepMs: Infinity,
});
const loadMs = performance.now() - start;
const results = [];
for (const prompt of prompts) {
  const t0 = performance.now();
  let first = 0;
  const tokens = [];
  for await (const delta of llm.stream(prompt, { temperature: 0, maxTokens: generate, ignoreEos: true })) {
    first ||= performance.now();
    tokens.push(...delta.tokenIds);
  }
  const t1 = performance.now();
  results.push({
    promptTokens: prompt.length,
    prefillMs: first - t0,
    decodeTokensPerSecond: generate > 1 ? ((tokens.length - 1) / (t1 - first)) * 1e3 : null,
    prefillTokensPerSecond: (prompt.length / (first - t0)) * 1e3,
    tokens,
  });
}
console.log(JSON.stringify({ loadMs, results, backend: llm.info.backendDescription }));
await llm.close();
