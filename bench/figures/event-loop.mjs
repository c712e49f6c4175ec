// P99 delay of the HTTP event loop, from the server's start through loading a model with a 150k vocabulary to eight streams at once.
import { spawn } from 'node:child_process';
import path from 'node:path';
import { shapeGguf } from '../shapes/qwen2.mjs';
import { row } from './rows.mjs';

export async function eventLoopRows(directory, root) {
  const file = await shapeGguf(directory, 'qwen2.5-0.5b', 'Q8_0');
  const main = path.join(root, 'packages/cli/dist/main.js');
  const server = spawn(process.execPath, [main, 'serve', '--port', '0', '-m', file, '--max-model-len', '2048'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  try {
    let log = '';
    const url = await new Promise((resolve, reject) => {
      const take = (data) => {
        log += data;
        const found = /Serving (\S+) on (http:\S+)/.exec(log);
        if (found) resolve(found[2]);
      };
      server.stdout.on('data', take);
      server.stderr.on('data', take);
      server.on('exit', (code) => reject(new Error(`dsi serve ended with ${code}: ${log}`)));
    });
    const model = /Serving (\S+) on/.exec(log)[1];
    const streams = Array.from({ length: 8 }, async (_, i) => {
      const prompt = Array.from({ length: 128 }, (_unused, t) => (t * 31 + i * 7) % 250);
      const response = await fetch(`${url}/v1/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model, prompt, max_tokens: 64, temperature: 0, ignore_eos: true, stream: true }),
      });
      await response.text();
    });
    await Promise.all(streams);
    const metrics = await (await fetch(`${url}/metrics`)).text();
    const p99 = Number(/^dsi_http_event_loop_delay_p99_seconds (\S+)$/m.exec(metrics)[1]);
    const conditions = { model: 'qwen2.5-0.5b shape, Q8_0', streams: 8, tokensEach: 64 };
    return [row('HTTP event loop delay P99 while loading and generating', p99 * 1e3, 'ms', { max: 50 }, conditions)];
  } finally {
    server.kill('SIGTERM');
  }
}
