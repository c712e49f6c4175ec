import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { HubChecksumError } from './errors.js';
import { request, RetryableError, withRetries } from './request.js';
import type { HubSettings } from './settings.js';

/** A file as the hub describes it. */
export interface RemoteFile {
  readonly path: string;
  readonly size: number;
  /** sha256 of the contents (large files), or git's sha1 of the blob. */
  readonly digest: { readonly kind: 'sha256' | 'git'; readonly hex: string };
}

async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.size ?? 0;
}

async function digestOf(path: string, file: RemoteFile): Promise<string> {
  const hash = createHash(file.digest.kind === 'sha256' ? 'sha256' : 'sha1');
  if (file.digest.kind === 'git') hash.update(`blob ${file.size}\0`);
  for await (const chunk of createReadStream(path, { highWaterMark: 2 ** 20 })) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

/** One attempt: continues the incomplete file where it ends, or starts over if the server does not do ranges. */
async function receive(
  url: string,
  file: RemoteFile,
  incomplete: string,
  settings: HubSettings,
  repo: string,
  onBytes: (here: number) => void,
): Promise<void> {
  let here = await sizeOf(incomplete);
  if (here > file.size) {
    await rm(incomplete);
    here = 0;
  }
  if (here === file.size && here > 0) return;
  const response = await request(url, settings, repo, {
    'accept-encoding': 'identity',
    ...(here > 0 && { range: `bytes=${here}-` }),
  });
  const resumed = response.status === 206 && response.headers.get('content-range')?.startsWith(`bytes ${here}-`);
  if (!resumed) here = 0;
  const handle = await open(incomplete, resumed ? 'a' : 'w');
  try {
    onBytes(here);
    for await (const chunk of response.body ?? []) {
      here += chunk.length;
      if (here > file.size) break;
      await handle.writeFile(chunk);
      onBytes(here);
    }
  } catch (cause) {
    settings.signal?.throwIfAborted();
    throw new RetryableError(`${file.path}: the connection broke after ${here} of ${file.size} bytes`, undefined, {
      cause,
    });
  } finally {
    await handle.close();
  }
  if (here < file.size) throw new RetryableError(`${file.path}: received ${here} of ${file.size} bytes`, undefined);
  if (here > file.size) throw new HubChecksumError(file.path, `${file.size} bytes`, 'more', { url, repo });
}

/**
 * Downloads one file to `blob` by way of `blob.incomplete`, which a later call resumes. The contents are checked
 * against the hub's digest before the file gets its name.
 *
 * @throws HubChecksumError, HubUnauthorizedError, HubNotFoundError, HubError
 */
export async function downloadFile(
  url: string,
  file: RemoteFile,
  blob: string,
  settings: HubSettings,
  repo: string,
  onBytes: (here: number) => void,
): Promise<void> {
  const incomplete = `${blob}.incomplete`;
  await mkdir(dirname(blob), { recursive: true });
  try {
    await withRetries(settings, () => receive(url, file, incomplete, settings, repo, onBytes));
    const actual = await digestOf(incomplete, file);
    if (actual !== file.digest.hex)
      throw new HubChecksumError(file.path, `${file.digest.kind} ${file.digest.hex}`, actual, { url, repo });
  } catch (error) {
    if (error instanceof HubChecksumError) await rm(incomplete, { force: true });
    throw error;
  }
  await rename(incomplete, blob);
}
