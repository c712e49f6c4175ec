import { Worker } from 'node:worker_threads';
import { serveCore } from '../core/serve-core.js';
import { EngineConfigError } from '../errors/lifecycle-errors.js';
import { resolveEngineOptions, type EngineOptions } from '../load/engine-options.js';
import { loadEngine } from '../load/load-engine.js';
import { inProcessLink, workerLink } from './core-link.js';
import { EngineClient, type ConnectOptions } from './engine-client.js';

export interface StartOptions extends ConnectOptions {
  /**
   * Run the core in the calling thread instead of a worker: for tests from sources and short scripts. The native kernels
   * still compute off the thread; planning and detokenising then share it with the caller.
   */
  readonly inProcess?: boolean;
}

/**
 * Loads an engine and connects to it.
 * @throws EngineConfigError for options out of range; BackendUnavailableError; errors of the model's files; the signal's reason
 */
export async function startEngine(options: EngineOptions, start: StartOptions = {}): Promise<EngineClient> {
  resolveEngineOptions(options);
  const { inProcess = false, ...connect } = start;
  if (inProcess) {
    const link = inProcessLink((port) => serveCore(port, (onEvent, signal) => loadEngine(options, onEvent, signal)));
    return EngineClient.connect(link, connect);
  }
  if (import.meta.url.endsWith('.ts')) {
    const limit = 'this package runs from its sources, which have no built worker: pass inProcess: true';
    throw new EngineConfigError({ field: 'inProcess', value: false, limit });
  }
  const worker = new Worker(new URL('./worker.js', import.meta.url), {
    workerData: options,
    name: 'dsi-engine',
    ...workerFlags(process.execArgv),
  });
  return EngineClient.connect(workerLink(worker), connect);
}

/** A worker inherits Node's flags and refuses to be a file under `--input-type`, with which `node -e` runs: it then takes none. */
function workerFlags(flags: readonly string[]): { execArgv?: string[] } {
  return flags.some((flag) => flag.startsWith('--input-type')) ? { execArgv: [] } : {};
}
