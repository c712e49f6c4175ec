// From a fresh clone to the first answered request: git clone, npm run serve, one chat completion.
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { row } from './rows.mjs';

export async function freshCloneRows(root) {
  const work = mkdtempSync(path.join(os.tmpdir(), 'dsi-clone-'));
  const clone = path.join(work, 'dsi');
  const port = 18_000 + Math.floor(Math.random() * 1000);
  const begin = performance.now();
  let server;
  let log = '';
  try {
    execFileSync('git', ['clone', '-q', '--no-hardlinks', root, clone]);
    server = spawn('npm', ['run', 'serve', '--', '--port', String(port)], {
      cwd: clone,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    server.stdout.on('data', (d) => (log += d));
    server.stderr.on('data', (d) => (log += d));
    let text;
    while (text === undefined) {
      if (performance.now() - begin > 900_000 || server.exitCode !== null)
        throw new Error(`the server did not answer: ${log.slice(-2000)}`);
      await new Promise((resolve) => setTimeout(resolve, 250));
      text = await ask(port).catch(() => undefined);
    }
    const seconds = (performance.now() - begin) / 1e3;
    return [
      row(
        'fresh clone to first answered request',
        seconds,
        's',
        { max: 360 },
        { answer: text, note: 'npm packages from the registry, or its cache where npm has one' },
      ),
    ];
  } finally {
    if (server?.pid) {
      try {
        process.kill(-server.pid, 'SIGTERM');
      } catch {
        // it has ended
      }
    }
    rmSync(work, { recursive: true, force: true });
  }
}

async function ask(port) {
  const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'dsi-mini-moe',
      messages: [{ role: 'user', content: 'Who are you?' }],
      temperature: 0,
      max_tokens: 32,
    }),
  });
  if (!response.ok) return undefined;
  return (await response.json()).choices[0].message.content;
}
