import { mkdir, readFile, readdir, rename, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { randomBytes } from 'node:crypto';
import { HubError } from './errors.js';

/**
 * One repository in the cache that Hugging Face tools share:
 *
 *   models--org--name/
 *     refs/<revision>              text: a commit
 *     blobs/<etag>                 contents
 *     snapshots/<commit>/<path>    links to blobs
 */
export class RepoCache {
  readonly root: string;

  constructor(cacheDir: string, repo: string) {
    this.root = join(cacheDir, `models--${repo.replaceAll('/', '--')}`);
  }

  blob(etag: string): string {
    return join(this.root, 'blobs', etag);
  }

  snapshot(commit: string): string {
    return join(this.root, 'snapshots', commit);
  }

  /** Path of a file in a snapshot; names that would leave it are refused. */
  snapshotFile(commit: string, path: string): string {
    const base = resolve(this.snapshot(commit));
    const full = resolve(base, path);
    if (!full.startsWith(base + sep)) throw new HubError(`the hub lists a file outside its repository: ${path}`);
    return full;
  }

  async readRef(revision: string): Promise<string | undefined> {
    if (/^[0-9a-f]{40}$/.test(revision)) return revision;
    try {
      return (await readFile(join(this.root, 'refs', ...revision.split('/')), 'utf8')).trim();
    } catch {
      return undefined;
    }
  }

  async writeRef(revision: string, commit: string): Promise<void> {
    if (revision === commit) return;
    const file = join(this.root, 'refs', ...revision.split('/'));
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, commit);
  }

  /** Makes `path` of a snapshot point to a blob, replacing what was there. */
  async link(commit: string, path: string, etag: string): Promise<string> {
    const file = this.snapshotFile(commit, path);
    await mkdir(dirname(file), { recursive: true });
    const temporary = `${file}.${randomBytes(4).toString('hex')}.tmp`;
    await symlink(relative(dirname(file), this.blob(etag)), temporary);
    await rename(temporary, file);
    return file;
  }

  /** Paths of the files that a snapshot has, relative to it. */
  async snapshotFiles(commit: string): Promise<string[]> {
    const base = this.snapshot(commit);
    const entries = await readdir(base, { recursive: true, withFileTypes: true }).catch(() => []);
    return entries
      .filter((entry) => !entry.isDirectory() && !entry.name.endsWith('.tmp'))
      .map((entry) =>
        relative(base, join(entry.parentPath ?? entry.path, entry.name))
          .split(sep)
          .join('/'),
      );
  }
}
