// Packs every publishable package, checks the manifests (publint, attw), installs all tarballs into an empty project, and runs each README's
// first TypeScript example there. The kernels come from the platform tarball, with no compiler on the PATH.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const { transformSync } = createRequire(import.meta.url)('esbuild');
const work = mkdtempSync(path.join(os.tmpdir(), 'dsi-packages-'));
const tarballs = path.join(work, 'tarballs');
mkdirSync(tarballs);
let passed = 0;
const failures = [];

function check(what, action) {
  try {
    action();
    passed++;
    console.log(`ok    ${what}`);
  } catch (error) {
    failures.push(what);
    console.log(`FAIL  ${what}\n${String(error.stderr ?? '')}${String(error.stdout ?? '')}${error.message}`);
  }
}

function npm(args, cwd, env = process.env) {
  return execFileSync('npm', args, { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

const folders = [...readdirSync(path.join(root, 'packages')).map((n) => `packages/${n}`), 'apps/server'].map((f) =>
  path.join(root, f),
);
const packages = folders
  .map((folder) => ({ folder, manifest: JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) }))
  .filter(({ manifest }) => !manifest.private);

const files = [];
for (const { folder, manifest } of packages) {
  const file = npm(['pack', '--silent', '--pack-destination', tarballs], folder).trim().split('\n').at(-1);
  const tarball = path.join(tarballs, file);
  files.push(tarball);
  check(`${manifest.name}: publint`, () =>
    execFileSync(path.join(root, 'node_modules/.bin/publint'), ['--strict', folder], {
      encoding: 'utf8',
      stdio: 'pipe',
    }),
  );
  if (manifest.exports && Object.values(manifest.exports).some((e) => e.import?.types)) {
    check(`${manifest.name}: attw`, () =>
      execFileSync(path.join(root, 'node_modules/.bin/attw'), [tarball, '--profile', 'node16'], {
        encoding: 'utf8',
        stdio: 'pipe',
      }),
    );
  }
}

const platform = execFileSync(
  process.execPath,
  [path.join(root, 'packages/kernels/scripts/make-platform-package.mjs'), path.join(work, 'platform')],
  {
    encoding: 'utf8',
  },
).trim();
files.push(
  path.join(tarballs, npm(['pack', '--silent', '--pack-destination', tarballs], platform.split('\n').at(-1)).trim()),
);

const project = path.join(work, 'project');
mkdirSync(project);
writeFileSync(path.join(project, 'package.json'), JSON.stringify({ name: 'clean', private: true, type: 'module' }));
npm(['install', '--no-fund', '--no-audit', '--loglevel=error', ...files], project);

// Only node itself on the PATH: no compiler can be found.
const bin = path.join(work, 'bin');
mkdirSync(bin);
execFileSync('ln', ['-s', process.execPath, path.join(bin, 'node')]);
const env = { PATH: bin, HOME: work };

for (const { folder, manifest } of packages) {
  const readmePath = path.join(folder, 'README.md');
  const readme = existsSync(readmePath) ? readFileSync(readmePath, 'utf8') : '';
  const example = /```ts\n([\s\S]*?)```/.exec(readme)?.[1];
  check(`${manifest.name}: README example`, () => {
    if (!example) {
      if (manifest.bin) return; // a command: its README shows shell lines
      throw new Error('README.md has no ```ts block');
    }
    const file = path.join(project, `${manifest.name.replace('@dsi/', '')}.mjs`);
    writeFileSync(file, transformSync(example, { loader: 'ts', format: 'esm', target: 'node20' }).code);
    const result = spawnSync(process.execPath, [file], { cwd: project, env, encoding: 'utf8', timeout: 120_000 });
    if (result.status !== 0) throw new Error(`exit ${result.status}: ${result.stderr}`);
    if (result.stdout.trim() === '') throw new Error('the example printed nothing');
  });
  if (manifest.main) {
    check(`${manifest.name}: require()`, () =>
      execFileSync(process.execPath, ['-e', `require(${JSON.stringify(manifest.name)})`], {
        cwd: project,
        env,
        encoding: 'utf8',
        stdio: 'pipe',
      }),
    );
  }
}
check('dsi --version from the tarball', () =>
  execFileSync(process.execPath, [path.join(project, 'node_modules/.bin/dsi'), '--version'], {
    cwd: project,
    env,
    encoding: 'utf8',
    stdio: 'pipe',
  }),
);
check('the kernels load from the platform package', () => {
  const code = `import { nativeStatus } from '@dsi/kernels'; const s = nativeStatus(); if (!s.available || !/kernels-/.test(s.path)) { console.error(s); process.exit(1); }`;
  execFileSync(process.execPath, ['--input-type=module', '-e', code], {
    cwd: project,
    env,
    encoding: 'utf8',
    stdio: 'pipe',
  });
});

rmSync(work, { recursive: true, force: true });
console.log(`\n${passed} passed, ${failures.length} failed`);
process.exit(failures.length === 0 ? 0 : 1);
