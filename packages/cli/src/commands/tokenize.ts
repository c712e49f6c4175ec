import type { Command } from 'commander';
import { dsiMiniMoe } from '@dsi/mini-model';
import { readStdin } from '../terminal/stdin.js';
import { openModelTokenizer } from './open-tokenizer.js';

interface TokenizeFlags {
  readonly model: string;
  readonly special: boolean;
  readonly parseSpecial: boolean;
  readonly json?: boolean;
}

/** `dsi tokenize < text`: ids of a text. */
export function tokenizeCommand(program: Command): void {
  program
    .command('tokenize')
    .description('token ids of a text')
    .argument('[text]', 'the text (default: standard input, byte for byte)')
    .option('-m, --model <model>', 'a model file, directory or hub id', dsiMiniMoe.name)
    .option('--no-special', 'do not add BOS and the like')
    .option('--parse-special', 'recognise control tokens by their text', false)
    .option('--json', '{"ids": [...], "count": n}')
    .action(async (argument: string | undefined, flags: TokenizeFlags) => {
      const text = argument ?? (await readStdin());
      const tokenizer = await openModelTokenizer(flags.model);
      const ids = tokenizer.encode(text, { addSpecialTokens: flags.special, parseSpecial: flags.parseSpecial });
      if (flags.json) {
        console.log(JSON.stringify({ ids: [...ids], count: ids.length }));
        return;
      }
      for (const id of ids) console.log(`${id}\t${JSON.stringify(tokenizer.decode([id]))}`);
    });
}
