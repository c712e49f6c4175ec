import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

/** Unit tests of one package, run from the sources of all packages (no build, no model, no compiler needed). */
export function unitProject(name: string) {
  return defineConfig({
    resolve: { conditions: ['@dsi/source', 'module', 'node', 'development|production'] },
    ssr: { resolve: { conditions: ['@dsi/source', 'module', 'node', 'development|production'] } },
    test: {
      name,
      include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
      exclude: ['**/*.e2e.test.ts', '**/node_modules/**'],
      setupFiles: [fileURLToPath(new URL('vitest.setup.ts', import.meta.url))],
      testTimeout: 60_000,
    },
  });
}
