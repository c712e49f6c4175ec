import { stat } from 'node:fs/promises';
import { RepoCache } from './cache.js';
import { chooseFiles } from './choose-files.js';
import { downloadFile, type RemoteFile } from './download-file.js';
import { HubError, HubNotFoundError, HubOfflineError } from './errors.js';
import { request, withRetries } from './request.js';
import { hubSettings, type HubOptions, type HubSettings } from './settings.js';

/** `org/name`, optionally `:QUANTISATION`. */
export interface HubId {
  readonly repo: string;
  readonly quantization?: string;
}

const idPattern = /^([\w.-]+\/[\w.-]+)(?::([\w.-]+))?$/;

/** Parses a hub id; undefined if `spec` is none. */
export function parseHubId(spec: string): HubId | undefined {
  const match = idPattern.exec(spec);
  if (match === null || match[1]!.split('/').some((part) => /^\.+$/.test(part))) return undefined;
  return { repo: match[1]!, ...(match[2] !== undefined && { quantization: match[2] }) };
}

interface TreeEntry {
  readonly type?: string;
  readonly path?: string;
  readonly size?: number;
  readonly oid?: string;
  readonly lfs?: { readonly oid?: string; readonly size?: number };
}

async function getJson<T>(url: string, settings: HubSettings, repo: string): Promise<{ value: T; response: Response }> {
  return withRetries(settings, async () => {
    const response = await request(url, settings, repo);
    try {
      return { value: (await response.json()) as T, response };
    } catch (cause) {
      throw new HubError(`${url} did not answer with JSON`, { url, repo }, { cause });
    }
  });
}

function encodePath(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/');
}

/** The commit that a revision stands for. */
async function resolveCommit(settings: HubSettings, repo: string): Promise<string> {
  const url = `${settings.endpoint}/api/models/${repo}/revision/${encodeURIComponent(settings.revision)}`;
  const { value } = await getJson<{ sha?: unknown }>(url, settings, repo);
  if (typeof value.sha !== 'string' || !/^[0-9a-f]{40}$/.test(value.sha))
    throw new HubError(`${url} names no commit`, { url, repo });
  return value.sha;
}

function nextPage(response: Response): string | undefined {
  return /<([^>]+)>;\s*rel="next"/.exec(response.headers.get('link') ?? '')?.[1];
}

function remoteFile(entry: TreeEntry): RemoteFile | undefined {
  if (entry.type !== 'file' || typeof entry.path !== 'string') return undefined;
  const large = entry.lfs?.oid?.replace(/^sha256:/, '');
  const size = entry.lfs?.size ?? entry.size;
  const hex = large ?? entry.oid;
  if (typeof size !== 'number' || typeof hex !== 'string' || !/^[0-9a-f]{40,64}$/.test(hex)) return undefined;
  return { path: entry.path, size, digest: { kind: large === undefined ? 'git' : 'sha256', hex } };
}

async function listFiles(settings: HubSettings, repo: string, commit: string): Promise<Map<string, RemoteFile>> {
  const files = new Map<string, RemoteFile>();
  let url: string | undefined = `${settings.endpoint}/api/models/${repo}/tree/${commit}?recursive=true`;
  for (let page = 0; url !== undefined && page < 1000; page++) {
    const { value, response }: { value: unknown; response: Response } = await getJson<unknown>(url, settings, repo);
    if (!Array.isArray(value)) throw new HubError(`${url} lists no files`, { url, repo });
    for (const entry of value as TreeEntry[]) {
      const file = remoteFile(entry);
      if (file !== undefined) files.set(file.path, file);
    }
    url = nextPage(response);
  }
  return files;
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** Runs `work` over items, at most `limit` at a time; the first failure stops new ones. */
async function forEachLimited<T>(items: readonly T[], limit: number, work: (item: T) => Promise<void>): Promise<void> {
  let next = 0;
  let failed = false;
  const lanes = Array.from({ length: Math.min(limit, items.length) }, async () => {
    while (!failed && next < items.length) {
      try {
        await work(items[next++]!);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  });
  const results = await Promise.allSettled(lanes);
  const rejected = results.find((r) => r.status === 'rejected');
  if (rejected !== undefined) throw rejected.reason;
}

async function fromCache(cache: RepoCache, settings: HubSettings, id: HubId): Promise<string> {
  const commit = await cache.readRef(settings.revision);
  const paths = commit === undefined ? [] : await cache.snapshotFiles(commit);
  const missing = (why: string, cause?: unknown) =>
    new HubOfflineError(
      `${id.repo} (${settings.revision}) is not in ${cache.root}: ${why}. Download it once without HF_HUB_OFFLINE.`,
      { repo: id.repo },
      { cause },
    );
  if (commit === undefined || paths.length === 0) throw missing('there is no snapshot');
  let chosen: ReturnType<typeof chooseFiles>;
  try {
    chosen = chooseFiles(id.repo, paths, id.quantization);
  } catch (error) {
    if (error instanceof HubNotFoundError) throw missing(error.message, error);
    throw error;
  }
  for (const path of chosen.files)
    if (!(await exists(cache.snapshotFile(commit, path)))) throw missing(`${path} is incomplete`);
  return chosen.open === undefined ? cache.snapshot(commit) : cache.snapshotFile(commit, chosen.open);
}

/**
 * Downloads a model into the cache that Hugging Face tools share and returns the local path to open: the snapshot
 * directory for safetensors, the (first) file for GGUF. Files that are there are not fetched again; broken downloads
 * resume; every file is checked against the hub's digest.
 *
 * @param spec `org/name`, or `org/name:Q4_K_M` to choose a GGUF file
 * @throws HubNotFoundError, HubUnauthorizedError, HubOfflineError, HubChecksumError, HubError
 */
export async function downloadFromHub(spec: string, options: HubOptions = {}): Promise<string> {
  const settings = hubSettings(options);
  const id = parseHubId(spec);
  if (id === undefined) throw new HubError(`${JSON.stringify(spec)} is no hub id: expected org/name or org/name:QUANT`);
  if (!/^[\w.][\w./-]*$/.test(settings.revision) || settings.revision.includes('..'))
    throw new HubError(`${JSON.stringify(settings.revision)} is no revision`, { repo: id.repo });
  const cache = new RepoCache(settings.cacheDir, id.repo);
  if (settings.offline) return fromCache(cache, settings, id);

  const commit = await resolveCommit(settings, id.repo);
  const remote = await listFiles(settings, id.repo, commit);
  const chosen = chooseFiles(id.repo, [...remote.keys()], id.quantization);
  const files = chosen.files.map((path) => remote.get(path)!);
  const totalBytes = files.reduce((sum, f) => sum + f.size, 0);
  const here = new Map<string, number>();
  const report = (file: RemoteFile, bytes: number): void => {
    here.set(file.path, bytes);
    let doneBytes = 0;
    for (const n of here.values()) doneBytes += n;
    settings.onProgress({ file: file.path, fileBytes: bytes, fileSize: file.size, doneBytes, totalBytes });
  };
  await forEachLimited(files, settings.concurrency, async (file) => {
    const blob = cache.blob(file.digest.hex);
    if (await exists(blob)) report(file, file.size);
    else {
      const url = `${settings.endpoint}/${id.repo}/resolve/${commit}/${encodePath(file.path)}`;
      await downloadFile(url, file, blob, settings, id.repo, (bytes) => report(file, bytes));
    }
    await cache.link(commit, file.path, file.digest.hex);
  });
  await cache.writeRef(settings.revision, commit);
  return chosen.open === undefined ? cache.snapshot(commit) : cache.snapshotFile(commit, chosen.open);
}
