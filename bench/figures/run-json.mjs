import { spawn } from 'node:child_process';

/** Runs a Node script whose last line of output is JSON. Returns {json, seconds}. */
export function runJson(args, { timeoutMs = 600_000, cwd, env } = {}) {
  return new Promise((resolve, reject) => {
    const begin = performance.now();
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'], cwd, env });
    let out = '';
    let err = '';
    let lastAt = begin;
    child.stdout.on('data', (d) => {
      out += d;
      lastAt = performance.now();
    });
    child.stderr.on('data', (d) => (err += d));
    const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
    child.on('exit', (code) => {
      clearTimeout(timer);
      const last = out.trim().split('\n').at(-1);
      if (code !== 0) reject(new Error(`${args[0]} ended with ${code}: ${err.slice(-2000)}`));
      else resolve({ json: JSON.parse(last), seconds: (lastAt - begin) / 1e3 });
    });
  });
}
