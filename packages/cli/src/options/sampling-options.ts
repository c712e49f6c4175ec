import type { SamplingParams } from '@dsi/engine';
import type { Command } from 'commander';
import { integer, number } from './parse.js';

export interface SamplingFlags {
  readonly maxTokens?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly minP?: number;
  readonly repetitionPenalty?: number;
  readonly seed?: number;
  readonly stop?: string[];
}

export function addSamplingOptions(command: Command): Command {
  return command
    .option('-n, --max-tokens <n>', 'new tokens at most', integer(1, 2 ** 31 - 1))
    .option('-t, --temperature <t>', "0 is greedy (default: the model's own)", number(0, 100))
    .option('--top-p <p>', 'nucleus sampling', number(0, 1))
    .option('--top-k <k>', 'keep the k best tokens', integer(-1, 2 ** 31 - 1))
    .option('--min-p <p>', 'drop tokens below p times the best', number(0, 1))
    .option('--repetition-penalty <x>', 'over prompt and output', number(0.01, 100))
    .option('--seed <seed>', 'the same seed gives the same tokens', integer(Number.MIN_SAFE_INTEGER))
    .option('--stop <texts...>', 'end before any of these texts');
}

export function toSamplingParams(flags: SamplingFlags): SamplingParams {
  const { maxTokens, temperature, topP, topK, minP, repetitionPenalty, seed, stop } = flags;
  const params = { maxTokens, temperature, topP, topK, minP, repetitionPenalty, seed, stop };
  return Object.fromEntries(Object.entries(params).filter(([, value]) => value !== undefined)) as SamplingParams;
}
