import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { Backend } from '@dsi/graph';
import { openModel, type ModelFiles } from '@dsi/model-files';

const folder = new URL('./fixtures/', import.meta.url);

export interface FixturePrompt {
  readonly ids: number[];
  /** After the last id, [V]. */
  readonly logits: number[];
  readonly greedy: number[];
}

/** References of test/fixtures/generate.py. */
export interface FixtureRecord {
  readonly name: string;
  readonly config?: Record<string, unknown>;
  readonly prompts: FixturePrompt[];
  readonly mtp?: { readonly ids: number[]; readonly last_logits: number[]; readonly argmax: number[] };
}

export interface OpenFixture {
  readonly record: FixtureRecord;
  readonly files: ModelFiles;
  close(): Promise<void>;
}

export const fixtureNames = readdirSync(folder)
  .filter((f) => f.endsWith('.json'))
  .map((f) => f.slice(0, -'.json'.length))
  .toSorted();

/** Unpacks a fixture into a temporary folder and opens it. */
export async function openFixture(name: string): Promise<OpenFixture> {
  const record = JSON.parse(readFileSync(new URL(`${name}.json`, folder), 'utf8')) as FixtureRecord;
  const directory = mkdtempSync(join(tmpdir(), 'dsi-models-'));
  const isGguf = record.config === undefined;
  const packed = readFileSync(new URL(`${name}.${isGguf ? 'gguf' : 'safetensors'}.gz`, folder));
  const file = join(directory, isGguf ? 'model.gguf' : 'model.safetensors');
  writeFileSync(file, gunzipSync(packed));
  if (!isGguf) writeFileSync(join(directory, 'config.json'), JSON.stringify(record.config));
  const files = await openModel(isGguf ? file : directory);
  return {
    record,
    files,
    async close() {
      await files.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** The native backend where it is built, looked up by name: this package depends on the backend contract only. */
export async function nativeBackend(): Promise<Backend | undefined> {
  const kernels = '@dsi/kernels';
  try {
    const { createCpuBackend } = (await import(kernels)) as {
      createCpuBackend: (options: { threads: number }) => Backend | Promise<Backend>;
    };
    return await createCpuBackend({ threads: 2 });
  } catch {
    return undefined;
  }
}
