#!/usr/bin/env node
// Builds the C++ tests with the address and undefined-behaviour sanitizers and runs them.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const run = (command, args) => spawnSync(command, args, { stdio: 'inherit' }).status ?? 1;

let status = run(process.execPath, [path.join(root, 'scripts', 'build-native.mjs'), '--sanitize=address,undefined']);
if (status === 0) {
  const folder = path.join(root, 'build', 'sanitize');
  const programs = readdirSync(folder).filter((name) => /^test(-[\w-]+)?$/.test(name));
  for (const name of programs.toSorted()) {
    console.log(name);
    status ||= run(path.join(folder, name), []);
  }
}
process.exitCode = status;
