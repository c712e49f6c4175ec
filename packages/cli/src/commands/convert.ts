import { convertToGguf, convertToSafetensors, openModel, resolveModel } from '@dsi/model-files';
import type { Command } from 'commander';
import { modelPath } from '../options/engine-options.js';
import { progressBar } from '../terminal/progress.js';
import { UsageError } from '../terminal/usage-error.js';

interface ConvertFlags {
  readonly output: string;
  readonly type?: string;
  readonly to: 'gguf' | 'safetensors' | 'auto';
}

/** `dsi convert`: Hugging Face directory to GGUF (quantised on the way), or GGUF back to safetensors. */
export function convertCommand(program: Command): void {
  program
    .command('convert')
    .description('convert a Hugging Face directory to GGUF, or a GGUF file to safetensors')
    .argument('<model>', 'a directory, file or hub id')
    .requiredOption('-o, --output <path>', 'the .gguf file, or the directory for safetensors')
    .option('-t, --type <type>', 'a weight type or mix: F16, BF16, Q8_0, Q4_0, Q4_K_M, ... (back: F32, F16, BF16)')
    .option('--to <format>', 'gguf or safetensors (default: by --output)', 'auto')
    .action(async (model: string, flags: ConvertFlags) => {
      const source = await resolveModel(modelPath(model));
      const to = flags.to === 'auto' ? (flags.output.endsWith('.gguf') ? 'gguf' : 'safetensors') : flags.to;
      const bar = progressBar('count');
      const onProgress = (p: { name: string; done: number; total: number }) => bar.update(p.name, p.done, p.total);
      try {
        const files = await openModel(source);
        const { kind } = files;
        await files.close();
        if (to === 'gguf') {
          if (kind === 'gguf') throw new UsageError(`${model} is a GGUF file already.`);
          await convertToGguf(source, flags.output, { types: flags.type ?? 'Q8_0', onProgress } as never);
        } else {
          await convertToSafetensors(source, flags.output, {
            ...(flags.type ? { type: flags.type } : {}),
            onProgress,
          } as never);
        }
      } finally {
        bar.stop();
      }
      console.log(flags.output);
    });
}
