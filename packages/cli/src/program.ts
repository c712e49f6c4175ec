import { Command, CommanderError } from 'commander';
import pc from 'picocolors';
import { benchCommand } from './commands/bench.js';
import { chatCommand } from './commands/chat.js';
import { convertCommand } from './commands/convert.js';
import { evalCommand } from './commands/eval.js';
import { generateCommand } from './commands/generate.js';
import { inspectCommand } from './commands/inspect.js';
import { serveCommand } from './commands/serve.js';
import { tokenizeCommand } from './commands/tokenize.js';
import { translateOldFlags } from './options/old-flags.js';
import { UsageError } from './terminal/usage-error.js';
import { version } from './version.js';

const commands = [
  serveCommand,
  chatCommand,
  generateCommand,
  tokenizeCommand,
  inspectCommand,
  convertCommand,
  evalCommand,
  benchCommand,
];

/** Runs the command line. @returns the exit code: 0, 1 for a failure, 2 for a wrong command line */
export async function runCli(args: readonly string[]): Promise<number> {
  const program = new Command('dsi')
    .description('LLM inference: serve, chat, generate, convert, evaluate')
    .version(version);
  program.exitOverride().showSuggestionAfterError().showHelpAfterError('(dsi --help lists the commands)');
  for (const add of commands) add(program);
  for (const command of allCommands(program)) command.exitOverride();
  try {
    await program.parseAsync(
      translateOldFlags(args, (line) => console.error(`notice: ${line}`)),
      { from: 'user' },
    );
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (error instanceof UsageError) {
      console.error(`${pc.red('error:')} ${error.message}`);
      return 2;
    }
    console.error(`${pc.red('error:')} ${describe(error)}`);
    return 1;
  }
}

function* allCommands(command: Command): Generator<Command> {
  for (const child of command.commands) {
    yield child;
    yield* allCommands(child);
  }
}

/** Typed errors speak for themselves; anything else is a fault of ours and shows its stack. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const expected =
    error.name !== 'Error' &&
    error.name !== 'TypeError' &&
    error.name !== 'RangeError' &&
    error.name !== 'ReferenceError';
  return expected || 'code' in error ? error.message : (error.stack ?? error.message);
}
