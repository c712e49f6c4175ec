import { spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const main = fileURLToPath(new URL('../packages/cli/dist/main.js', import.meta.url));

/** The backend that the tests run on: native where it is built. */
export const backend = process.env.DSI_REQUIRE_NATIVE ? 'cpu' : 'auto';

export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `dsi` to its end. */
export function dsi(args: readonly string[], input?: string): Promise<CommandResult> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [main, ...args], { stdio: ['pipe', 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (d: Buffer) => (stdout += d.toString()));
    child.stderr.on('data', (d: Buffer) => (stderr += d.toString()));
    child.on('exit', (code) => resolve({ code, stdout, stderr }));
    child.stdin.end(input ?? '');
  });
}

export interface ServerProcess {
  readonly url: string;
  readonly child: ChildProcess;
  readonly output: () => string;
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

/** Starts `dsi serve` on a free port and waits until the model answers. */
export async function dsiServe(args: readonly string[] = []): Promise<ServerProcess> {
  const child = spawn(process.execPath, [main, 'serve', '--port', '0', '--backend', backend, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const url = await new Promise<string>((resolve, reject) => {
    const take = (data: Buffer) => {
      output += data.toString();
      const found = /Serving .* on (http:\S+)/.exec(output);
      if (found) resolve(found[1]!);
    };
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    child.on('exit', (code) => reject(new Error(`dsi serve ended with ${code}: ${output}`)));
  });
  return {
    url,
    child,
    output: () => output,
    stop: (signal = 'SIGTERM') =>
      new Promise((resolve) => {
        child.on('exit', resolve);
        child.kill(signal);
      }),
  };
}
