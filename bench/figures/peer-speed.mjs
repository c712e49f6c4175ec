// Prefill and decode of the Qwen2.5-0.5B shape beside node-llama-cpp, alternating, in processes of their own.
import { fileURLToPath } from 'node:url';
import { shapeGguf } from '../shapes/qwen2.mjs';
import { median, row } from './rows.mjs';
import { runJson } from './run-json.mjs';

const here = (file) => fileURLToPath(new URL(file, import.meta.url));
const prompt = (n, seed) => Array.from({ length: n }, (_, i) => (i * 31 + seed * 17) % 250);

/** Rows for one shape and quantisation: ours divided by the peer's, medians over `rounds` alternations. */
export async function peerSpeedRows(directory, shape, quant, { rounds = 3, threads = 2, minRatio = 1 / 1.5 } = {}) {
  const file = await shapeGguf(directory, shape, quant);
  const args = JSON.stringify({
    prompts: [prompt(32, 9), prompt(128, 1), prompt(512, 2), prompt(16, 3)],
    generate: 64,
    threads,
  });
  const samples = { dsi: [], peer: [] };
  for (let round = 0; round < rounds; round++) {
    samples.peer.push((await runJson([here('../peers/node-llama-cpp.mjs'), file, args])).json);
    samples.dsi.push((await runJson([here('../peers/dsi.mjs'), file, args])).json);
  }
  const value = (who, read) => median(samples[who].map((s) => read(s.results)));
  const measures = [
    ['prefill 128', (r) => r[1].prefillTokensPerSecond],
    ['prefill 512', (r) => r[2].prefillTokensPerSecond],
    ['decode', (r) => r[3].decodeTokensPerSecond],
  ];
  return measures.map(([name, read]) => {
    const ours = value('dsi', read);
    const peer = value('peer', read);
    return row(
      `${shape} ${quant} ${name}: ratio to node-llama-cpp`,
      ours / peer,
      'x',
      { min: Number(minRatio.toFixed(3)) },
      {
        dsiTokensPerSecond: ours,
        peerTokensPerSecond: peer,
        threads,
        rounds,
        dsiSamples: samples.dsi.map((s) => read(s.results)),
        peerSamples: samples.peer.map((s) => read(s.results)),
      },
    );
  });
}
