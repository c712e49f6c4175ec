import { KvCacheManager, uniformSpec } from '@dsi/kv-cache';
import { IterationScheduler, type StepOutput } from '@dsi/scheduler';
import { report } from './clock.js';

/** schedule + update for decoding sequences, without an engine. The outputs are built outside the measured time. */
const spec = uniformSpec({ kind: 'gqa', layers: 32, kvHeads: 8, headDim: 128, bytesPerElement: 2 });

function run(numSeqs: number, policy: string): void {
  const maxTokens = 1_500;
  const kv = new KvCacheManager({ spec, numBlocks: numSeqs * 128 + 1 });
  const scheduler = new IterationScheduler({
    kv,
    maxNumBatchedTokens: 8192,
    maxNumSeqs: numSeqs,
    maxModelLen: 4096,
    policy,
  });
  for (let i = 0; i < numSeqs; i++) {
    const promptTokens = Int32Array.from({ length: 128 }, (_, p) => (p * 31 + i * 17) & 0x7fff);
    scheduler.add({ id: `request-${i}`, promptTokens, maxTokens });
  }
  const samples: number[] = [];
  while (scheduler.hasWork) {
    const begin = performance.now();
    const plan = scheduler.schedule();
    const planned = performance.now();
    const outputs: StepOutput[] = plan.requests
      .filter((request) => request.wantsLogits)
      .map(({ id, numComputed }) => ({ id, tokens: [numComputed & 0x7fff] }));
    const sampled = performance.now();
    scheduler.update({ stepId: plan.stepId, outputs });
    const spent = planned - begin + (performance.now() - sampled);
    if (plan.requests.length === numSeqs && plan.numTokens === numSeqs) samples.push(spent * 1000);
  }
  scheduler.checkIntegrity();
  samples.sort((a, b) => a - b);
  const mean = samples.reduce((sum, sample) => sum + sample, 0) / samples.length;
  report(`${policy}, ${numSeqs} decoding: schedule + update, median`, samples[samples.length >> 1]!, 'us');
  report(`${policy}, ${numSeqs} decoding: schedule + update, mean`, mean, 'us');
  report(`${policy}, ${numSeqs} decoding: schedule + update, p99`, samples[Math.floor(samples.length * 0.99)]!, 'us');
}

run(256, 'fcfs');
run(256, 'priority');
run(1024, 'fcfs');
