import { openModel, resolveModel, type ModelFiles } from '@dsi/model-files';
import { dsiMiniMoe } from '@dsi/mini-model';
import type { Command } from 'commander';
import { modelPath } from '../options/engine-options.js';

interface InspectFlags {
  readonly json?: boolean;
  readonly tensors?: boolean;
}

/** `dsi inspect [model]`: what a model file says of itself. */
export function inspectCommand(program: Command): void {
  program
    .command('inspect')
    .description('metadata, configuration and tensors of a model')
    .argument('[model]', 'a model file, directory or hub id', dsiMiniMoe.name)
    .option('--tensors', 'list every tensor')
    .option('--json', 'one JSON object, tensors included')
    .action(async (model: string, flags: InspectFlags) => {
      const files = await openModel(await resolveModel(modelPath(model)));
      try {
        if (flags.json) console.log(JSON.stringify(describe(files)));
        else print(files, flags.tensors === true);
      } finally {
        await files.close();
      }
    });
}

/** Long arrays (vocabularies) are named by their length. */
function short(value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  const list = ArrayBuffer.isView(value) ? Array.from(value as unknown as ArrayLike<unknown>) : value;
  if (Array.isArray(list)) return list.length > 16 ? `[${list.length} values]` : list.map(short);
  if (typeof value === 'string' && value.length > 200) return `${value.slice(0, 200)}… (${value.length} characters)`;
  return value;
}

function describe(files: ModelFiles) {
  return {
    path: files.path,
    kind: files.kind,
    metadata: Object.fromEntries([...files.metadata].map(([key, value]) => [key, short(value)])),
    config: files.config,
    tensors: [...files.tensors.values()].map(({ name, dtype, shape, byteLength }) => ({
      name,
      dtype,
      shape,
      byteLength,
    })),
  };
}

function print(files: ModelFiles, listTensors: boolean): void {
  console.log(`${files.path} (${files.kind})`);
  for (const [key, value] of files.metadata) console.log(`  ${key} = ${JSON.stringify(short(value))}`);
  if (files.config) {
    for (const [key, value] of Object.entries(files.config)) console.log(`  ${key} = ${JSON.stringify(value)}`);
  }
  const byType = new Map<string, { count: number; bytes: number; elements: number }>();
  for (const { dtype, shape, byteLength } of files.tensors.values()) {
    const entry = byType.get(dtype) ?? { count: 0, bytes: 0, elements: 0 };
    entry.count++;
    entry.bytes += byteLength;
    entry.elements += shape.reduce((a, b) => a * b, 1);
    byType.set(dtype, entry);
  }
  const total = [...byType.values()].reduce(
    (a, b) => ({ bytes: a.bytes + b.bytes, elements: a.elements + b.elements }),
    { bytes: 0, elements: 0 },
  );
  console.log(
    `${files.tensors.size} tensors, ${total.elements.toLocaleString('en')} elements, ${(total.bytes / 2 ** 20).toFixed(1)} MiB, ${total.elements === 0 ? 'no' : ((total.bytes * 8) / total.elements).toFixed(3)} bits each`,
  );
  for (const [dtype, { count, bytes, elements }] of byType) {
    console.log(
      `  ${dtype.padEnd(8)} ${String(count).padStart(5)} tensors ${elements.toLocaleString('en').padStart(16)} elements ${(bytes / 2 ** 20).toFixed(1).padStart(10)} MiB`,
    );
  }
  if (!listTensors) return;
  for (const { name, dtype, shape } of files.tensors.values())
    console.log(`  ${name}  ${dtype}  [${shape.join(', ')}]`);
}
