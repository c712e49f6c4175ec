import { readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** Reads a small file, or gives undefined; tests give their own. */
export type ReadText = (file: string) => string | undefined;

const readText: ReadText = (file) => {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
};

/**
 * Cores that this process may use: those of its affinity mask, less where a cgroup (v2 `cpu.max`, v1 `cpu.cfs_quota_us`) of it or of a
 * parent grants fewer. A fraction of a core counts as one.
 */
export function availableCores(read: ReadText = readText, affinity: number = os.availableParallelism()): number {
  let cores = affinity;
  const limit = (quota: string | undefined, period: string | undefined) => {
    const granted = Number(quota) / Number(period);
    if (Number.isFinite(granted) && granted > 0) cores = Math.min(cores, Math.ceil(granted));
  };
  for (const line of (read('/proc/self/cgroup') ?? '').split('\n')) {
    const [, controllers, group] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (controllers === undefined || group === undefined) continue;
    for (const dir of ancestors(group)) {
      if (controllers === '') {
        limit(...pair(read(path.join('/sys/fs/cgroup', dir, 'cpu.max'))));
      } else if (controllers.split(',').includes('cpu')) {
        const base = path.join('/sys/fs/cgroup/cpu', dir);
        limit(read(path.join(base, 'cpu.cfs_quota_us')), read(path.join(base, 'cpu.cfs_period_us')));
      }
    }
  }
  return Math.max(1, cores);
}

function pair(text: string | undefined): [string | undefined, string | undefined] {
  const [quota, period] = (text ?? '').trim().split(' ');
  return [quota, period];
}

/** `/a/b` -> `/a/b`, `/a`, `/`. */
function ancestors(group: string): string[] {
  const dirs: string[] = [];
  for (let dir = path.posix.normalize(group); ; dir = path.posix.dirname(dir)) {
    dirs.push(dir);
    if (path.posix.dirname(dir) === dir) return dirs;
  }
}
