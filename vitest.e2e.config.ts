import { defineConfig } from 'vitest/config';

/** End-to-end tests: the built command and server as users run them, with the embedded model. `npm test` builds first. */
export default defineConfig({
  test: {
    name: 'e2e',
    include: ['e2e/**/*.e2e.test.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    fileParallelism: false,
  },
});
