import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { NativeUnavailableError, type NativeCandidate } from '../errors.js';
import type { NativeAddon } from './addon.js';

/** Where the native kernels came from, or why there are none. */
export type NativeStatus =
  | { readonly available: true; readonly path: string; readonly bestIsa: string }
  | { readonly available: false; readonly candidates: readonly NativeCandidate[] };

/** What the loader asks of the machine; tests give their own. */
export interface LoaderHost {
  readonly platform: string;
  readonly arch: string;
  /** Version of glibc on Linux; undefined on musl. */
  glibc(): string | undefined;
  exists(file: string): boolean;
  resolve(name: string): string;
  load(file: string): NativeAddon;
  readonly packageRoot: string;
}

const supported = new Set(['linux-x64', 'linux-arm64', 'darwin-arm64']);

/** Tries every candidate in order; the first that loads wins. Never throws. */
export function findNative(
  host: LoaderHost,
): { addon: NativeAddon; path: string } | { candidates: readonly NativeCandidate[] } {
  const machine = `${host.platform}-${host.arch}`;
  if (!supported.has(machine)) {
    return refuse(
      machine,
      'no native kernels exist for this platform',
      `use one of ${[...supported].join(', ')}, or the reference backend of @dsi/graph`,
    );
  }
  if (host.platform === 'linux' && host.glibc() === undefined) {
    return refuse(
      `${machine}-musl`,
      'this Node.js runs on musl, which the native kernels do not support',
      'use a glibc-based image (node:22-bookworm-slim instead of node:22-alpine)',
    );
  }

  const candidates: NativeCandidate[] = [];
  const attempt = (source: string, file: string, remedy: string) => {
    try {
      return { addon: host.load(file), path: file };
    } catch (error) {
      candidates.push({ source, reason: `does not load: ${firstLine(error)}`, remedy });
      return undefined;
    }
  };

  const build = path.join(host.packageRoot, 'scripts', 'build-native.mjs');
  const compile = `build it here with a C++ compiler: node ${build}`;
  const platformPackage = `@dsi/kernels-${machine}${host.platform === 'linux' ? '-gnu' : ''}`;
  let file: string | undefined;
  try {
    file = host.resolve(`${platformPackage}/dsi_kernels.node`);
  } catch {
    candidates.push({
      source: platformPackage,
      reason: 'not installed',
      remedy: `install it next to @dsi/kernels, or ${compile}`,
    });
  }
  if (file !== undefined) {
    const loaded = attempt(platformPackage, file, `reinstall it in the version of @dsi/kernels, or ${compile}`);
    if (loaded) return loaded;
  }

  const local = path.join(host.packageRoot, 'build', 'Release', 'dsi_kernels.node');
  if (host.exists(local)) {
    const loaded = attempt(local, local, `delete it and ${compile}`);
    if (loaded) return loaded;
  } else {
    candidates.push({ source: local, reason: 'not built', remedy: compile });
  }
  return { candidates };
}

function refuse(source: string, reason: string, remedy: string) {
  return { candidates: [{ source, reason, remedy }] };
}

function firstLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split('\n')[0] ?? text;
}

function machineHost(): LoaderHost {
  const here = fileURLToPath(import.meta.url);
  const require = createRequire(here);
  return {
    platform: process.platform,
    arch: process.arch,
    glibc() {
      const report = process.report as typeof process.report & { excludeNetwork?: boolean };
      const before = report.excludeNetwork;
      report.excludeNetwork = true;
      const { header } = report.getReport() as unknown as { header: { glibcVersionRuntime?: string } };
      if (before !== undefined) report.excludeNetwork = before;
      return header.glibcVersionRuntime;
    },
    exists: existsSync,
    resolve: (name) => require.resolve(name),
    load: (file) => require(file) as NativeAddon,
    packageRoot: findPackageRoot(path.dirname(here)),
  };
}

/** The folder of @dsi/kernels' package.json above `start`, which lies in src/ or dist/. */
function findPackageRoot(start: string): string {
  for (let dir = start; ; dir = path.dirname(dir)) {
    const manifest = path.join(dir, 'package.json');
    if (existsSync(manifest)) {
      const { name } = JSON.parse(readFileSync(manifest, 'utf8')) as { name?: string };
      if (name === '@dsi/kernels') return dir;
    }
    if (path.dirname(dir) === dir) return start;
  }
}

let found: ReturnType<typeof findNative> | undefined;

function lookUp(): ReturnType<typeof findNative> {
  found ??= findNative(machineHost());
  return found;
}

/** Whether the native kernels load here, from where, or every reason why not. Never throws. */
export function nativeStatus(): NativeStatus {
  const result = lookUp();
  return 'addon' in result
    ? { available: true, path: result.path, bestIsa: result.addon.bestIsa() }
    : { available: false, candidates: result.candidates };
}

/**
 * The addon, loaded at the first call.
 *
 * @throws NativeUnavailableError with every candidate's reason and remedy
 */
export function loadNative(): NativeAddon {
  const result = lookUp();
  if ('addon' in result) return result.addon;
  throw new NativeUnavailableError(result.candidates);
}
