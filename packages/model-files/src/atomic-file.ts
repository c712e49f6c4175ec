import { randomBytes } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';

/** Sequential writer to a file that is not there until it is complete. */
export interface FileSink {
  readonly position: number;
  write(bytes: Uint8Array): Promise<void>;
}

const smallWrites = 2 ** 20;

/**
 * Calls `produce` with a sink over a temporary file beside `path`, then flushes it to disk and renames it. If anything
 * fails, the temporary file is removed and what was at `path` before stays.
 */
export async function writeAtomically(path: string, produce: (sink: FileSink) => Promise<void>): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  const handle = await open(temporary, 'wx');
  // Small pieces (header fields, short tensors) are collected into one write.
  let pending: Uint8Array[] = [];
  let pendingBytes = 0;
  let position = 0;
  const writeAll = async (bytes: Uint8Array): Promise<void> => {
    for (let done = 0; done < bytes.length;)
      done += (await handle.write(bytes, done, Math.min(bytes.length - done, 2 ** 30))).bytesWritten;
  };
  const flush = async (): Promise<void> => {
    const joined = Buffer.concat(pending);
    pending = [];
    pendingBytes = 0;
    await writeAll(joined);
  };
  try {
    try {
      await produce({
        get position() {
          return position;
        },
        async write(bytes) {
          position += bytes.length;
          if (bytes.length < smallWrites) {
            pending.push(bytes.slice());
            pendingBytes += bytes.length;
            if (pendingBytes >= smallWrites) await flush();
          } else {
            await flush();
            await writeAll(bytes);
          }
        },
      });
      await flush();
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
