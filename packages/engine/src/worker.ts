import { parentPort, workerData } from 'node:worker_threads';
import { serveCore } from './core/serve-core.js';
import type { EngineOptions } from './load/engine-options.js';
import { loadEngine } from './load/load-engine.js';

if (!parentPort) throw new Error('worker.js is the entry of a worker thread: load it with LLM.load or startEngine');
const port = parentPort;
// A rejection is left unhandled on purpose: it ends the worker with an `error` event, which the client reports.
void serveCore(port, (onEvent, signal) => loadEngine(workerData as EngineOptions, onEvent, signal)).then(() =>
  port.close(),
);
