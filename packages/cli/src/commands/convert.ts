import {
  convertToGguf,
  quantizationPresets,
  resolveModel,
  type ConvertProgress,
  type QuantizationPreset,
} from '@dsi/model-files';
import { Option, type Command } from 'commander';
import { modelPath } from '../options/engine-options.js';
import { progressBar } from '../terminal/progress.js';
import { UsageError } from '../terminal/usage-error.js';

interface ConvertFlags {
  readonly output: string;
  readonly type: string;
  readonly mtp: 'include' | 'sidecar' | 'skip';
}

/** @throws UsageError naming the types there are */
function preset(name: string): QuantizationPreset {
  const found = quantizationPresets.find((p) => p.toUpperCase() === name.toUpperCase());
  if (found === undefined)
    throw new UsageError(`--type ${name} is not known; use one of ${quantizationPresets.join(', ')}.`);
  return found;
}

/** `dsi convert`: a Hugging Face directory to a GGUF file, quantised on the way. */
export function convertCommand(program: Command): void {
  program
    .command('convert')
    .description('convert a Hugging Face directory to a GGUF file')
    .argument('<model>', 'a directory or hub id')
    .requiredOption('-o, --output <file>', 'the .gguf file to write')
    .option('-t, --type <type>', `weight type or mix: ${quantizationPresets.join(', ')}`, 'Q8_0')
    .addOption(mtpOption())
    .action(async (model: string, flags: ConvertFlags) => {
      const types = preset(flags.type);
      const source = await resolveModel(modelPath(model));
      const bar = progressBar('count');
      try {
        const onProgress = (p: ConvertProgress) => bar.update(p.tensor, p.doneWeights, p.totalWeights);
        const result = await convertToGguf(source, flags.output, { types, mtp: flags.mtp, onProgress });
        bar.stop();
        for (const warning of result.warnings) console.error(`notice: ${warning}`);
        console.log(result.path);
        if (result.mtpPath !== undefined) console.log(result.mtpPath);
      } finally {
        bar.stop();
      }
    });
}

function mtpOption(): Option {
  return new Option('--mtp <where>', 'multi-token-prediction layers: in the file, in a file of their own, or nowhere')
    .choices(['include', 'sidecar', 'skip'])
    .default('include');
}
