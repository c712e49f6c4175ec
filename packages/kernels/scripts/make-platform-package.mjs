#!/usr/bin/env node
// Writes the platform package of this machine (@dsi/kernels-linux-x64-gnu and the like), ready for `npm pack`:
//   node make-platform-package.mjs <folder>      prints the package's folder on its last line
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const target = process.argv[2];
if (target === undefined) {
  console.error('Name the folder to write the package to: node make-platform-package.mjs <folder>');
  process.exit(1);
}

const linux = process.platform === 'linux';
// The C++ runtime goes inside where the linker can do it, so that the package runs on machines with an older one.
const build = spawnSync(
  process.execPath,
  [path.join(root, 'scripts', 'build-native.mjs'), ...(linux ? ['--static-runtime'] : [])],
  { stdio: ['ignore', 2, 2] },
);
if (build.status !== 0) process.exit(build.status ?? 1);

const own = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
const name = `@dsi/kernels-${process.platform}-${process.arch}${linux ? '-gnu' : ''}`;
const folder = path.resolve(target, name.replace('@dsi/', ''));
mkdirSync(folder, { recursive: true });
copyFileSync(path.join(root, 'build', 'Release', 'dsi_kernels.node'), path.join(folder, 'dsi_kernels.node'));
copyFileSync(path.join(root, 'LICENSE'), path.join(folder, 'LICENSE'));
const manifest = {
  name,
  version: own.version,
  description: `Native kernels of @dsi/kernels for ${process.platform}-${process.arch}.`,
  license: own.license,
  repository: own.repository,
  os: [process.platform],
  cpu: [process.arch],
  ...(linux ? { libc: ['glibc'] } : {}),
  engines: own.engines,
  main: 'dsi_kernels.node',
  files: ['dsi_kernels.node'],
  publishConfig: { access: 'public' },
};
writeFileSync(path.join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
writeFileSync(
  path.join(folder, 'README.md'),
  `# ${name}\n\nThe compiled kernels of [@dsi/kernels](https://www.npmjs.com/package/@dsi/kernels) for this platform. Install that package.\n`,
);
console.log(folder);
