import { createInterface } from 'node:readline/promises';
import type { ChatMessage } from '@dsi/engine';
import type { Command } from 'commander';
import pc from 'picocolors';
import { addEngineOptions, modelName, type EngineFlags } from '../options/engine-options.js';
import { loadLlm } from '../options/load-llm.js';
import { addSamplingOptions, toSamplingParams, type SamplingFlags } from '../options/sampling-options.js';
import { UsageError } from '../terminal/usage-error.js';

interface ChatFlags extends EngineFlags, SamplingFlags {
  readonly system?: string;
}

/** `dsi chat`: a conversation in the terminal. One line of standard input is one message. */
export function chatCommand(program: Command): void {
  addSamplingOptions(addEngineOptions(program.command('chat').description('talk to a model in the terminal'), 'fast'))
    .option('--system <text>', 'system message')
    .action(async (flags: ChatFlags) => {
      const llm = await loadLlm(flags);
      try {
        if (!llm.hasChatTemplate)
          throw new UsageError(`${modelName(flags.model)} has no chat template; use dsi generate.`);
        const system: ChatMessage[] = flags.system === undefined ? [] : [{ role: 'system', content: flags.system }];
        let messages = [...system];
        const tty = process.stdin.isTTY;
        if (tty)
          console.error(pc.dim('/clear forgets the conversation, /exit or Ctrl+D ends, Ctrl+C stops an answer.'));
        const lines = createInterface({
          input: process.stdin,
          output: process.stdout,
          terminal: tty === true,
          prompt: tty ? '> ' : '',
        });
        let answering: AbortController | undefined;
        lines.on('SIGINT', () => (answering ? answering.abort() : lines.close()));
        lines.prompt();
        for await (const line of lines) {
          const text = line.trim();
          if (text === '/exit') break;
          if (text === '/clear') messages = [...system];
          if (text === '' || text === '/clear') {
            lines.prompt();
            continue;
          }
          messages.push({ role: 'user', content: text });
          answering = new AbortController();
          let answer = '';
          try {
            for await (const delta of llm.streamChat(messages, toSamplingParams(flags), { signal: answering.signal })) {
              answer += delta.text;
              process.stdout.write(delta.text);
            }
          } catch (error) {
            if (!answering.signal.aborted) throw error;
          }
          answering = undefined;
          process.stdout.write('\n');
          messages.push({ role: 'assistant', content: answer });
          lines.prompt();
        }
        lines.close();
      } finally {
        await llm.close();
      }
    });
}
