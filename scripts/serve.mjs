// npm run serve [-- dsi serve flags]: from a fresh clone to a server that answers, with the embedded model.
import path from 'node:path';
import { buildNative, buildPackages, checkNode, installDependencies, root } from './bootstrap.mjs';
import { spawn } from 'node:child_process';

checkNode();
installDependencies();
buildPackages({ types: false });
const native = buildNative();
const args = process.argv.slice(2);
if (!native && !args.includes('--backend')) {
  console.error(
    'The native kernels could not be built (reason above): serving on the reference backend, which is right but slow. Install a C++17 compiler (Debian/Ubuntu: apt-get install g++; macOS: xcode-select --install) and run the command again for full speed.',
  );
  args.push('--backend', 'reference');
}
const child = spawn(process.execPath, [path.join(root, 'packages/cli/dist/main.js'), 'serve', ...args], {
  cwd: root,
  stdio: 'inherit',
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
child.on('exit', (code, signal) => process.exit(code ?? (signal ? 1 : 0)));
