// Loads a model and gives one token: node peers/first-token.mjs MODEL -> {"vmHwmKiB": n} on the last line. The caller times the whole process.
import { readFileSync } from 'node:fs';
import { LLM } from '@dsi/engine';

const llm = await LLM.load({ model: process.argv[2], maxModelLen: 2048, maxNumSeqs: 4 });
const { choices } = await llm.generate([0, 1, 2, 3, 4, 5, 6, 7], { temperature: 0, maxTokens: 1, ignoreEos: true });
const vmHwmKiB = Number(/VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]);
process.stdout.write(
  `${JSON.stringify({ vmHwmKiB, tokens: choices[0].tokenIds, kvBytes: llm.info.kvBytes, loadMs: llm.info.loadMs })}\n`,
);
await llm.close();
