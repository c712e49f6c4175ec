import { startServer } from '@dsi/server';
import type { Command } from 'commander';
import { addEngineOptions, modelName, toEngineOptions, type EngineFlags } from '../options/engine-options.js';
import { loadProgress } from '../options/load-llm.js';
import { bytes, integer } from '../options/parse.js';
import { UsageError } from '../terminal/usage-error.js';

interface ServeFlags extends EngineFlags {
  readonly host: string;
  readonly port: number;
  readonly servedModelName?: string[];
  readonly maxBodySize: number;
}

/** `dsi serve`: the HTTP server, until SIGINT or SIGTERM. */
export function serveCommand(program: Command): void {
  addEngineOptions(program.command('serve').description('serve a model over an OpenAI-compatible API'), 'fast')
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('-p, --port <port>', 'port to listen on; 0 takes a free one', integer(0, 65_535), 8000)
    .option('--served-model-name <names...>', 'names that clients use (default: from --model)')
    .option('--max-body-size <size>', 'largest request body', bytes, 32 * 2 ** 20)
    .action(async (flags: ServeFlags) => {
      const [name = modelName(flags.model), ...aliases] = flags.servedModelName ?? [];
      const progress = loadProgress();
      const server = await startServer({
        engine: toEngineOptions(flags),
        modelName: name,
        aliases,
        host: flags.host,
        port: flags.port,
        maxBodyBytes: flags.maxBodySize,
        onLoadProgress: progress.onProgress,
      }).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'EADDRINUSE') {
          throw new UsageError(
            `Port ${flags.port} on ${flags.host} is in use: stop what listens there, or choose another with --port.`,
          );
        }
        throw error;
      });
      let stopping = false;
      let stoppedAt = 0;
      const stop = () => {
        // One Ctrl+C may arrive several times: from the terminal, and passed on by npm and by a parent script.
        if (stopping && performance.now() - stoppedAt < 1000) return;
        if (stopping) process.exit(130);
        stopping = true;
        stoppedAt = performance.now();
        console.error('stopping: running requests may finish ...');
        void server.close().then(() => process.exit(0));
      };
      process.on('SIGINT', stop);
      process.on('SIGTERM', stop);
      console.error(`loading ${name} ... (${server.url}/health says how far)`);
      try {
        const llm = await server.ready;
        progress.stop();
        const { info } = llm;
        for (const notice of info.notices) console.error(`notice: ${notice}`);
        console.error(
          `${name} (${info.architecture}) on ${info.backend}: ${info.backendDescription}; ${info.numerics} numerics; loaded in ${(info.loadMs / 1e3).toFixed(1)} s; ` +
            `context ${info.maxModelLen}, KV cache ${info.numBlocks * info.blockSize} tokens`,
        );
        console.log(`Serving ${name} on ${server.url}\n\nTry it:\n${curlLine(server.url, name, llm.hasChatTemplate)}`);
      } catch (error) {
        progress.stop();
        if (stopping) return;
        await server.close();
        throw error;
      }
    });
}

/** A line that can be pasted into a shell and works. */
function curlLine(url: string, model: string, chat: boolean): string {
  const body = chat
    ? { model, messages: [{ role: 'user', content: 'Who are you?' }], temperature: 0 }
    : { model, prompt: 'The quick brown fox', max_tokens: 32, temperature: 0 };
  const json = JSON.stringify(body).replaceAll("'", String.raw`'\''`);
  return `curl ${url}/v1/${chat ? 'chat/completions' : 'completions'} -H 'content-type: application/json' -d '${json}'\n`;
}
