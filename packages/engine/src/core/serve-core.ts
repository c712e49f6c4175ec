import { toWire } from '../errors/wire.js';
import type { EngineInfo } from '../load/engine-info.js';
import type { LoadEvent } from '../load/load-event.js';
import { EngineCore, type EngineCoreParts } from './engine-core.js';
import type { FromCore, ToCore } from './protocol.js';

/** A loaded model, ready to run. Whoever asked for it disposes it. */
export interface LoadedEngine {
  readonly info: EngineInfo;
  readonly parts: Omit<EngineCoreParts, 'post'>;
  dispose(): void;
}

export type LoadEngine = (onEvent: (event: LoadEvent) => void, signal: AbortSignal) => Promise<LoadedEngine>;

/** The ends of a message port that the core needs; `parentPort` of a worker is one. */
export interface CorePort {
  postMessage(message: FromCore, transfer: readonly []): void;
  on(event: 'message', listener: (message: ToCore) => void): unknown;
}

/**
 * Loads an engine and runs its core on a port until a `close` message; then everything is freed. A load that fails is
 * reported on the port, not thrown.
 */
export async function serveCore(port: CorePort, load: LoadEngine): Promise<void> {
  const post = (message: FromCore) => port.postMessage(message, []);
  const loading = new AbortController();
  let core: EngineCore | undefined;
  port.on('message', (message) => {
    if (core) core.handle(message);
    else if (message.type === 'close') loading.abort();
  });
  let engine: LoadedEngine;
  try {
    engine = await load((event) => post({ type: 'load', event }), loading.signal);
  } catch (error) {
    post({ type: 'load-failed', error: toWire(error) });
    return;
  }
  try {
    if (!loading.signal.aborted) {
      core = new EngineCore({ ...engine.parts, post });
      post({ type: 'ready', info: engine.info });
      await core.run();
    }
  } finally {
    engine.dispose();
  }
  post({ type: 'closed' });
}
