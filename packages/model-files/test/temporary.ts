import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';

/** A directory for the tests of one file, removed afterwards. */
export function temporaryDirectory(): {
  path(name: string): string;
  write(name: string, data: Uint8Array | string): Promise<string>;
} {
  let directory = '';
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'dsi-model-files-'));
  });
  afterAll(() => rm(directory, { recursive: true, force: true }));
  const path = (name: string): string => join(directory, name);
  return {
    path,
    async write(name, data) {
      await writeFile(path(name), data);
      return path(name);
    },
  };
}
