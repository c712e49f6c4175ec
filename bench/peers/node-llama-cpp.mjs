// One measurement of the peer in a process of its own: node peers/node-llama-cpp.mjs MODEL '{"prompt":[ids],"generate":64,"threads":2}' -> JSON on the last line.
import { getLlama, LlamaLogLevel } from 'node-llama-cpp';

const [, , modelPath, json] = process.argv;
const { prompts, generate, threads, contextSize = 1024 } = JSON.parse(json);

const llama = await getLlama({ gpu: false, build: 'never', logLevel: LlamaLogLevel.error, maxThreads: threads });
const start = performance.now();
const model = await llama.loadModel({ modelPath });
const context = await model.createContext({ contextSize, batchSize: 512, threads, sequences: 1 });
const sequence = context.getSequence();
const results = [];
let loadMs = performance.now() - start;
for (const prompt of prompts) {
  await sequence.clearHistory();
  const t0 = performance.now();
  let first;
  let count = 0;
  const tokens = [];
  for await (const token of sequence.evaluate(prompt, { temperature: 0, yieldEogToken: true })) {
    if (count === 0) first = performance.now();
    tokens.push(token);
    if (++count === generate) break;
  }
  const t1 = performance.now();
  results.push({
    promptTokens: prompt.length,
    prefillMs: first - t0,
    decodeTokensPerSecond: count > 1 ? ((count - 1) / (t1 - first)) * 1e3 : null,
    prefillTokensPerSecond: (prompt.length / (first - t0)) * 1e3,
    tokens,
  });
}
console.log(JSON.stringify({ loadMs, results }));
await llama.dispose();
