#!/usr/bin/env node
// Builds build/Release/dsi_kernels.node with nothing but a C++17 compiler. Incremental: an object is rebuilt only when its flags, its source
// or a header it includes has changed.
//   node build-native.mjs                                 the addon (--verbose: with the compiler's warnings)
//   node build-native.mjs --static-runtime                the addon with libstdc++ inside (for platform packages)
//   node build-native.mjs --sanitize=address,undefined    the C++ tests under sanitizers: build/sanitize/test-<folder of native/test>
import { execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const native = path.join(root, 'native');

/** Flags of a folder named like an instruction set, by CPU. A folder that is not in this CPU's table is not compiled. */
const isaFolders = {
  x64: {
    generic: [],
    avx2: ['-mavx2', '-mfma', '-mf16c'],
    avx512: (
      '-mavx2 -mfma -mf16c -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vnni -mavx512bf16 ' +
      '-mprefer-vector-width=512'
    ).split(' '),
  },
  arm64: { generic: [] },
};
const isaNames = new Set(Object.values(isaFolders).flatMap((table) => Object.keys(table)));

/** `-ffp-contract=off`: a fused multiply-add happens where the source says so and nowhere else, so that bits do not depend on the optimiser. */
const commonFlags = (
  '-std=c++17 -O3 -fPIC -fvisibility=hidden -fvisibility-inlines-hidden -ffp-contract=off -fno-math-errno ' +
  '-fno-trapping-math -pthread -Wall -Wextra -Wno-psabi -Wno-maybe-uninitialized -Wno-uninitialized ' +
  '-Wno-unknown-warning-option'
).split(' ');

class BuildError extends Error {}

function options() {
  const { values } = parseArgs({
    options: { sanitize: { type: 'string' }, 'static-runtime': { type: 'boolean' }, verbose: { type: 'boolean' } },
  });
  return values;
}

function findCompiler() {
  const candidates = process.env.CXX ? [process.env.CXX] : ['c++', 'g++', 'clang++'];
  for (const candidate of candidates) {
    const [command, ...args] = candidate.split(' ').filter((part) => part !== '');
    if (command === undefined) continue;
    const result = spawnSync(command, [...args, '--version'], { encoding: 'utf8' });
    if (result.status === 0) return { command, args, version: result.stdout };
  }
  throw new BuildError(
    `No C++ compiler was found (tried ${candidates.join(', ')}): install one (Debian/Ubuntu: apt-get install g++; Fedora: dnf install gcc-c++; macOS: xcode-select --install), or set CXX to yours, and run the command again.`,
  );
}

function walk(dir) {
  if (!existsSync(dir)) return [];
  return readdirSync(dir, { withFileTypes: true })
    .flatMap((entry) => {
      const full = path.join(dir, entry.name);
      if (entry.isDirectory()) return walk(full);
      return entry.name.endsWith('.cc') ? [full] : [];
    })
    .toSorted();
}

/** Include directories of the Node-API headers, found as any module is. */
function nodeApi() {
  const require = createRequire(import.meta.url);
  const found = [];
  for (const [name, dir] of [
    ['node-addon-api', '.'],
    ['node-api-headers', 'include'],
  ]) {
    let manifest;
    try {
      manifest = require.resolve(`${name}/package.json`);
    } catch {
      throw new BuildError(
        `The package ${name}, whose headers the build needs, is not installed: run npm install first.`,
      );
    }
    found.push({
      dir: path.join(path.dirname(manifest), dir),
      version: JSON.parse(readFileSync(manifest, 'utf8')).version,
    });
  }
  return found;
}

/** `undefined` when this CPU has no such instruction set. */
function isaFlags(file) {
  const isa = path
    .relative(native, file)
    .split(path.sep)
    .find((part) => isaNames.has(part));
  return isa === undefined ? [] : isaFolders[process.arch]?.[isa];
}

function sha256(...parts) {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part).update('\0');
  return hash.digest('hex');
}

const contents = new Map();
function contentHash(file) {
  let hash = contents.get(file);
  if (hash === undefined) {
    hash = existsSync(file) ? sha256(readFileSync(file)) : 'missing';
    contents.set(file, hash);
  }
  return hash;
}

/** Paths that a make-style dependency file names after its target. */
function readDependencies(file) {
  if (!existsSync(file)) return undefined;
  const text = readFileSync(file, 'utf8').replaceAll('\\\n', ' ');
  return text
    .slice(text.indexOf(': ') + 2)
    .split(/(?<!\\)\s+/)
    .filter((part) => part !== '')
    .map((part) => part.replaceAll('\\ ', ' '));
}

function progress(done, total, name) {
  if (!process.stdout.isTTY) return;
  process.stdout.write(`\r\x1b[K[${done}/${total}] ${name}`);
}

function compile(compiler, unit) {
  return new Promise((resolve, reject) => {
    const temporary = `${unit.object}.${process.pid}.tmp`;
    const args = [
      ...compiler.args,
      ...unit.flags,
      '-MMD',
      '-MF',
      unit.dependencies,
      '-c',
      unit.source,
      '-o',
      temporary,
    ];
    execFile(compiler.command, args, { maxBuffer: 1 << 26 }, (error, _stdout, stderr) => {
      if (error) {
        rmSync(temporary, { force: true });
        reject(
          new BuildError(
            `${stderr}\nCompiling ${path.relative(root, unit.source)} with ${compiler.command} failed (its messages are above): DSI needs GCC 11, Clang 14 or newer; set CXX to one and run the command again.`,
          ),
        );
        return;
      }
      if (stderr !== '' && unit.verbose) process.stderr.write(stderr);
      renameSync(temporary, unit.object);
      resolve();
    });
  });
}

async function compileAll(compiler, units) {
  const workers = Math.max(1, Math.min(os.availableParallelism(), units.length));
  let next = 0;
  let done = 0;
  const work = async () => {
    while (next < units.length) {
      const unit = units[next++];
      await compile(compiler, unit);
      progress(++done, units.length, path.basename(unit.source));
    }
  };
  try {
    await Promise.all(Array.from({ length: workers }, work));
  } finally {
    next = units.length;
    if (process.stdout.isTTY) process.stdout.write('\r\x1b[K');
  }
}

function link(compiler, objects, flags, output) {
  const temporary = `${output}.${process.pid}.tmp`;
  const result = spawnSync(compiler.command, [...compiler.args, ...objects, ...flags, '-o', temporary], {
    encoding: 'utf8',
  });
  if (result.status !== 0) {
    rmSync(temporary, { force: true });
    throw new BuildError(
      `${result.stderr}\nLinking ${path.relative(root, output)} failed: see the linker's message above.`,
    );
  }
  // A running process may have the old file mapped: the name moves to a new file, the old bytes stay.
  renameSync(temporary, output);
}

async function build() {
  const started = performance.now();
  const opts = options();
  if (isaFolders[process.arch] === undefined || process.platform === 'win32') {
    throw new BuildError(
      `DSI's native kernels support x64 and arm64 on Linux and macOS, and this is ${process.platform}-${process.arch}: use the reference backend here.`,
    );
  }
  const compiler = findCompiler();
  const headers = nodeApi();
  const sanitize = opts.sanitize;
  const outDir = path.join(root, 'build', sanitize ? 'sanitize' : 'Release');
  const objectDir = path.join(outDir, 'obj');

  const folders = ['cpu', 'executor', sanitize ? 'test' : 'addon'];
  const flags = [...commonFlags, `-I${path.join(native, 'include')}`, `-I${native}`];
  if (sanitize)
    flags.push(`-fsanitize=${sanitize}`, '-fno-omit-frame-pointer', '-fno-sanitize-recover=all', '-g', '-O1');
  for (const header of headers) flags.push('-isystem', header.dir);
  flags.push('-DNAPI_VERSION=8', '-DNAPI_CPP_EXCEPTIONS', '-DNODE_ADDON_API_DISABLE_DEPRECATED');

  const identity = [compiler.command, ...compiler.args, compiler.version, ...headers.map((header) => header.version)];
  const units = folders
    .flatMap((folder) => walk(path.join(native, folder)))
    .flatMap((source) => {
      const isa = isaFlags(source);
      if (isa === undefined) return [];
      const object = path.join(objectDir, `${path.relative(native, source).replaceAll(path.sep, '__')}.o`);
      return [
        {
          source,
          object,
          dependencies: object.replace(/\.o$/, '.d'),
          flags: [...flags, ...isa],
          verbose: opts.verbose,
        },
      ];
    });

  mkdirSync(objectDir, { recursive: true });
  const manifestPath = path.join(objectDir, 'manifest.json');
  const manifest = existsSync(manifestPath) ? JSON.parse(readFileSync(manifestPath, 'utf8')) : {};
  const keyOf = (unit) => {
    const dependencies = readDependencies(unit.dependencies);
    if (dependencies === undefined) return undefined;
    return sha256(...identity, ...unit.flags, ...dependencies.map(contentHash));
  };
  const stale = units.filter((unit) => {
    if (!existsSync(unit.object)) return true;
    const key = keyOf(unit);
    return key === undefined || manifest[unit.object] !== key;
  });

  const saveManifest = () => {
    // Written also after a failure, so that what did compile is not compiled again.
    for (const unit of stale) {
      if (existsSync(unit.object) && unit.compiled) manifest[unit.object] = keyOf(unit);
    }
    writeFileSync(manifestPath, JSON.stringify(manifest, null, 1));
  };
  if (stale.length > 0) {
    if (!process.stdout.isTTY) console.log(`Compiling ${stale.length} of ${units.length} native sources ...`);
    for (const unit of stale) rmSync(unit.object, { force: true });
    // Headers may have been read before the compiler reads them again: hash them anew afterwards.
    contents.clear();
    try {
      await compileAll(compiler, stale);
    } finally {
      for (const unit of stale) unit.compiled = existsSync(unit.object);
      saveManifest();
    }
  }

  const linkFlags = ['-pthread'];
  if (sanitize) linkFlags.push(`-fsanitize=${sanitize}`);
  else if (process.platform === 'darwin') linkFlags.push('-bundle', '-undefined', 'dynamic_lookup', '-Wl,-dead_strip');
  else linkFlags.push('-shared', '-Wl,-s', '-Wl,--exclude-libs,ALL');
  if (opts['static-runtime']) linkFlags.push('-static-libstdc++', '-static-libgcc');

  for (const [name, members] of outputs(units, Boolean(sanitize))) {
    const output = path.join(outDir, name);
    const linkKey = sha256(...identity, ...linkFlags, ...members.map((unit) => manifest[unit.object] ?? ''));
    const hashKey = `hash of ${output}`;
    if (existsSync(output) && manifest[output] === linkKey && contentHash(output) === manifest[hashKey]) {
      if (opts.verbose) console.log(`${path.relative(process.cwd(), output)} is up to date.`);
      continue;
    }
    const objects = members.map((unit) => unit.object);
    link(compiler, objects, linkFlags, output);
    contents.delete(output);
    manifest[output] = linkKey;
    manifest[hashKey] = contentHash(output);
    writeFileSync(manifestPath, JSON.stringify(manifest, null, 1));
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    console.log(`Built ${path.relative(process.cwd(), output) || output} in ${seconds} s.`);
  }
}

/** Match of a test source, with the folder that it lies in; null for all others. */
function suiteOf(unit) {
  return /^test[\\/](?:([^\\/]+)[\\/])?/.exec(path.relative(native, unit.source));
}

/** What is linked from which units: the addon from all, or one program a folder of native/test, each with all that is not a test. */
function outputs(units, testing) {
  if (!testing) return [['dsi_kernels.node', units]];
  const shared = units.filter((unit) => suiteOf(unit) === null);
  const suites = new Map();
  for (const unit of units) {
    const suite = suiteOf(unit);
    if (suite === null) continue;
    const name = suite[1] === undefined ? 'test' : `test-${suite[1]}`;
    suites.set(name, [...(suites.get(name) ?? shared), unit]);
  }
  return suites;
}

try {
  await build();
} catch (error) {
  if (!(error instanceof BuildError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
