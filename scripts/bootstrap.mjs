// What `npm run serve` and `npm test` share: check the machine, install, build. Plain Node, no dependencies: nothing is installed yet.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));

/** Prints one sentence and ends the process. */
export function fail(message) {
  console.error(`\n${message}`);
  process.exit(1);
}

export function checkNode() {
  const major = Number(process.versions.node.split('.')[0]);
  if (major < 20) {
    fail(
      `DSI needs Node.js 20 or newer and this is ${process.versions.node}: install a current one from https://nodejs.org (or run: nvm install 22) and run the command again.`,
    );
  }
}

function run(command, args, options = {}) {
  return spawnSync(command, args, {
    cwd: root,
    stdio: 'inherit',
    shell: process.platform === 'win32',
    ...options,
    env: { ...process.env, TURBO_TELEMETRY_DISABLED: '1', ...options.env },
  });
}

function fileHash(file) {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}

/** `npm ci`, unless the installed tree already belongs to this lock file. */
export function installDependencies(options = {}) {
  const stamp = path.join(root, 'node_modules', '.dsi-install');
  const want = `${fileHash(path.join(root, 'package-lock.json'))} ${process.versions.modules} ${process.arch}`;
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === want) return;
  console.error('Installing packages (npm ci) ...');
  const result = run('npm', ['ci', '--no-fund', '--no-audit', '--loglevel=error'], options);
  if (result.status !== 0) {
    fail(
      'npm ci failed: see its message above (a registry that cannot be reached, most often), then run the command again.',
    );
  }
  mkdirSync(path.dirname(stamp), { recursive: true });
  writeFileSync(stamp, want);
}

/** JavaScript of all packages, through turbo's cache. `types: false` leaves out the type declarations. */
export function buildPackages({ types }, options = {}) {
  const env = types ? {} : { DSI_SKIP_DTS: '1' };
  const result = run(
    process.execPath,
    [path.join(root, 'node_modules/turbo/bin/turbo'), 'run', 'build', '--output-logs=errors-only', '--log-prefix=none'],
    { ...options, env },
  );
  if (result.status !== 0) fail('The build failed: see the message above.');
}

/** The native kernels. Returns false, with the reason printed, when they cannot be built here. */
export function buildNative(options = {}) {
  const result = run(process.execPath, [path.join(root, 'packages/kernels/scripts/build-native.mjs')], options);
  return result.status === 0;
}

export { run };
