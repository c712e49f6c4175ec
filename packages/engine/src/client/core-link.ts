import { setTimeout } from 'node:timers/promises';
import { MessageChannel, type MessagePort, type Worker } from 'node:worker_threads';
import type { FromCore, ToCore } from '../core/protocol.js';

/** The client's end of the wire to an EngineCore, whatever runs it. */
export interface CoreLink {
  post(message: ToCore): void;
  /** Called once, before anything is posted. `onEnd`: the other side is gone, and why. */
  listen(onMessage: (message: FromCore) => void, onEnd: (reason: string) => void): void;
  /** Ends the other side now; resolves when it is gone. */
  terminate(): Promise<void>;
  /** Whether the link alone keeps the process alive. */
  setRef(ref: boolean): void;
}

/**
 * Talks to a core in a worker thread. Owns the worker.
 * @param graceMs what the worker gets to free what is native before it is ended by force
 */
export function workerLink(worker: Worker, graceMs = 5000): CoreLink {
  let exited = false;
  const exit = new Promise<void>((resolve) => {
    worker.once('exit', () => {
      exited = true;
      resolve();
    });
  });
  return {
    post: (message) => worker.postMessage(message, []),
    listen(onMessage, onEnd) {
      worker.on('message', onMessage);
      worker.on('error', (error: Error) => onEnd(error.message));
      worker.on('exit', (code) => onEnd(`exit code ${code}`));
    },
    async terminate() {
      if (exited) return;
      worker.ref();
      worker.postMessage({ type: 'close' } satisfies ToCore, []);
      const grace = new AbortController();
      await Promise.race([exit, setTimeout(graceMs, undefined, { signal: grace.signal, ref: false }).catch(() => {})]);
      grace.abort();
      if (!exited) await worker.terminate();
    },
    setRef(ref) {
      if (ref) worker.ref();
      else worker.unref();
    },
  };
}

/**
 * Runs a core in the calling thread, over a message channel: the same protocol and the same copies, without a worker.
 * @param serve runs the core on its port until it is closed
 */
export function inProcessLink(serve: (port: MessagePort) => Promise<void>): CoreLink {
  const { port1, port2 } = new MessageChannel();
  let reason = 'closed';
  const done = serve(port2)
    .catch((error: unknown) => {
      reason = error instanceof Error ? error.message : String(error);
    })
    .finally(() => port2.close());
  return {
    post: (message) => port1.postMessage(message),
    listen(onMessage, onEnd) {
      port1.on('message', onMessage);
      // Comes after every message that was posted before.
      port1.on('close', () => onEnd(reason));
    },
    async terminate() {
      port1.postMessage({ type: 'close' } satisfies ToCore);
      await done;
      port1.close();
    },
    setRef(ref) {
      if (ref) port1.ref();
      else port1.unref();
    },
  };
}
