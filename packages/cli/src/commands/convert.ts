import {
  convertToGguf,
  convertToSafetensors,
  openModel,
  quantizationPresets,
  resolveModel,
  type QuantizationPreset,
} from '@dsi/model-files';
import { Option, type Command } from 'commander';
import { modelPath } from '../options/engine-options.js';
import { progressBar, type Progress } from '../terminal/progress.js';
import { UsageError } from '../terminal/usage-error.js';

interface ConvertFlags {
  readonly output: string;
  readonly type?: string;
  readonly mtp: 'include' | 'sidecar' | 'skip';
}

const plainTypes = ['F32', 'F16', 'BF16'] as const;

/** @throws UsageError naming the types there are */
function oneOf<T extends string>(name: string, known: readonly T[]): T {
  const found = known.find((type) => type.toUpperCase() === name.toUpperCase());
  if (found === undefined) throw new UsageError(`--type ${name} is not known here; use one of ${known.join(', ')}.`);
  return found;
}

/** `dsi convert`: a Hugging Face directory to a GGUF file, quantised on the way; a GGUF file back to a directory of safetensors. */
export function convertCommand(program: Command): void {
  program
    .command('convert')
    .description('convert a Hugging Face directory to a GGUF file, or a GGUF file back to safetensors')
    .argument('<model>', 'a directory, a .gguf file or a hub id')
    .requiredOption('-o, --output <path>', 'the .gguf file, or the directory, to write')
    .option(
      '-t, --type <type>',
      `to GGUF: ${quantizationPresets.join(', ')} (default: Q8_0); back: ${plainTypes.join(', ')} (default: BF16)`,
    )
    .addOption(
      new Option('--mtp <where>', 'multi-token-prediction layers: in the file, in a file of their own, or nowhere')
        .choices(['include', 'sidecar', 'skip'])
        .default('include'),
    )
    .action(async (model: string, flags: ConvertFlags) => {
      const source = await resolveModel(modelPath(model));
      const files = await openModel(source);
      const { kind } = files;
      await files.close();
      const bar = progressBar('count');
      try {
        if (kind === 'gguf') await toSafetensors(source, flags, bar);
        else await toGguf(source, flags, bar);
      } finally {
        bar.stop();
      }
    });
}

async function toGguf(source: string, flags: ConvertFlags, bar: Progress): Promise<void> {
  const types: QuantizationPreset = oneOf(flags.type ?? 'Q8_0', quantizationPresets);
  if (!flags.output.endsWith('.gguf')) throw new UsageError(`--output ${flags.output} must end in .gguf.`);
  const result = await convertToGguf(source, flags.output, {
    types,
    mtp: flags.mtp,
    onProgress: (p) => bar.update(p.tensor, p.doneWeights, p.totalWeights),
  });
  bar.stop();
  for (const warning of result.warnings) console.error(`notice: ${warning}`);
  console.log(result.path);
  if (result.mtpPath !== undefined) console.log(result.mtpPath);
}

async function toSafetensors(source: string, flags: ConvertFlags, bar: Progress): Promise<void> {
  if (flags.output.endsWith('.gguf')) {
    throw new UsageError('The model is a GGUF file already; --output names the directory for its safetensors.');
  }
  await convertToSafetensors(source, flags.output, {
    dtype: oneOf(flags.type ?? 'BF16', plainTypes),
    onProgress: (p) => bar.update(p.tensor, p.done, p.total),
  });
  bar.stop();
  console.log(flags.output);
}
