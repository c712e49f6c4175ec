// Bundles one benchmark with the packages' sources and runs it: node bench/cache/run.mjs [block-pool | radix | scheduler]
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'tsup';

const here = dirname(fileURLToPath(import.meta.url));
const known = ['block-pool', 'radix', 'scheduler'];
const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !known.includes(name));
if (unknown.length > 0) {
  console.error(`unknown benchmark ${unknown.join(', ')}; there are ${known.join(', ')}`);
  process.exit(2);
}
const outDir = await mkdtemp(join(tmpdir(), 'cache-bench-'));
try {
  for (const name of wanted.length > 0 ? wanted : known) {
    await build({
      config: false,
      silent: true,
      entry: [join(here, `${name}.bench.ts`)],
      tsconfig: join(here, '../../tsconfig.base.json'),
      outDir,
      format: ['esm'],
      target: 'node20',
      noExternal: [/^@dsi\//],
      outExtension: () => ({ js: '.mjs' }),
      esbuildOptions: (options) => {
        options.conditions = ['@dsi/source'];
      },
    });
    await import(pathToFileURL(join(outDir, `${name}.bench.mjs`)).href);
  }
} finally {
  await rm(outDir, { recursive: true, force: true });
}
