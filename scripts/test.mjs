// npm test [-- vitest arguments]: installs and builds what the tests need, then runs all of them.
import path from 'node:path';
import { buildNative, buildPackages, checkNode, installDependencies, root, run } from './bootstrap.mjs';

checkNode();
installDependencies();
buildPackages({ types: true });
const native = buildNative();
if (!native) {
  console.error(
    'The native kernels could not be built (reason above): their tests are left out. Install a C++17 compiler (Debian/Ubuntu: apt-get install g++; macOS: xcode-select --install) to run them.',
  );
}
const result = run(
  process.execPath,
  [path.join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...process.argv.slice(2)],
  { env: native ? { DSI_REQUIRE_NATIVE: '1' } : {} },
);
process.exit(result.status ?? 1);
