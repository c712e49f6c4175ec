// npm run figures:<topic>: builds, installs the benchmark workspace's peers, runs bench/figures/<topic>.mjs.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { buildNative, buildPackages, checkNode, fail, installDependencies, root, run } from './bootstrap.mjs';

const [topic, ...args] = process.argv.slice(2);
const script = path.join(root, 'bench/figures', `${topic}.mjs`);
checkNode();
if (!existsSync(script)) fail(`There is no bench/figures/${topic}.mjs.`);
// Standard output belongs to the figures.
const quiet = { stdio: ['ignore', 2, 2] };
installDependencies(quiet);
buildPackages({ types: false }, quiet);
buildNative(quiet);
if (!existsSync(path.join(root, 'bench/node_modules'))) {
  // --omit=optional: the peers' GPU binaries weigh several hundred megabytes and are not measured here.
  const install = ['ci', '--omit=optional', '--ignore-scripts', '--no-fund', '--no-audit', '--loglevel=error'];
  if (run('npm', install, { cwd: path.join(root, 'bench'), ...quiet }).status !== 0) fail('npm ci in bench/ failed.');
}
process.exit(run(process.execPath, [script, ...args]).status ?? 1);
