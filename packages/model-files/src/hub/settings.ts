import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DownloadProgress } from './download-progress.js';

export interface HubOptions {
  /** Branch, tag or commit. Default `main`. */
  readonly revision?: string;
  /** Directory with `models--org--name` folders. Default: HF_HUB_CACHE, else HF_HOME/hub, else ~/.cache/huggingface/hub. */
  readonly cacheDir?: string;
  /** Default HF_TOKEN. */
  readonly token?: string;
  /** Default HF_ENDPOINT, else https://huggingface.co. */
  readonly endpoint?: string;
  /** Only what is in the cache. Default: HF_HUB_OFFLINE is 1, true, yes or on. */
  readonly offline?: boolean;
  readonly onProgress?: (progress: DownloadProgress) => void;
  readonly signal?: AbortSignal;
  /** Files downloaded at once. Default 4. */
  readonly concurrency?: number;
  /** Attempts for each file and request before giving up. Default 5. */
  readonly attempts?: number;
  /** Environment to read the defaults from. Default process.env. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Waits between attempts, for tests. */
  readonly wait?: (milliseconds: number) => Promise<void>;
}

/** Options with every default filled in. */
export interface HubSettings {
  readonly revision: string;
  readonly cacheDir: string;
  readonly token: string | undefined;
  readonly endpoint: string;
  readonly offline: boolean;
  readonly onProgress: (progress: DownloadProgress) => void;
  readonly signal: AbortSignal | undefined;
  readonly concurrency: number;
  readonly attempts: number;
  readonly wait: (milliseconds: number) => Promise<void>;
}

function isOn(value: string | undefined): boolean {
  return value !== undefined && ['1', 'true', 'yes', 'on'].includes(value.toLowerCase());
}

export function hubSettings(options: HubOptions): HubSettings {
  const env = options.env ?? process.env;
  const home = env.HF_HOME ?? join(env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'huggingface');
  const { signal } = options;
  return {
    revision: options.revision ?? 'main',
    cacheDir: options.cacheDir ?? env.HF_HUB_CACHE ?? join(home, 'hub'),
    token: options.token ?? env.HF_TOKEN ?? undefined,
    endpoint: (options.endpoint ?? env.HF_ENDPOINT ?? 'https://huggingface.co').replace(/\/+$/, ''),
    offline: options.offline ?? isOn(env.HF_HUB_OFFLINE),
    onProgress: options.onProgress ?? (() => {}),
    signal,
    concurrency: Math.max(1, options.concurrency ?? 4),
    attempts: Math.max(1, options.attempts ?? 5),
    wait: options.wait ?? ((milliseconds) => sleep(milliseconds, undefined, signal && { signal })),
  };
}
