// Load of a GGUF of about 1 GB: seconds from process start to first token with the file in the page cache, and peak resident memory.
import { readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { shapeGguf } from '../shapes/qwen2.mjs';
import { median, row } from './rows.mjs';
import { runJson } from './run-json.mjs';

export async function loadRows(directory) {
  const file = await shapeGguf(directory, 'qwen2.5-1.5b', 'Q4_K_M');
  readFileSync(file);
  const script = fileURLToPath(new URL('../peers/first-token.mjs', import.meta.url));
  const runs = [];
  for (let i = 0; i < 3; i++) runs.push(await runJson([script, file]));
  const size = statSync(file).size;
  const conditions = { fileBytes: size, kvBytes: runs[0].json.kvBytes, seconds: runs.map((r) => r.seconds) };
  return [
    row(
      '1 GB GGUF: process start to first token, file in the page cache',
      median(runs.map((r) => r.seconds)),
      's',
      { max: 2 },
      conditions,
    ),
    row(
      '1 GB GGUF: peak resident memory above the file size',
      (Math.max(...runs.map((r) => r.json.vmHwmKiB)) * 1024 - size) / 1e6,
      'MB',
      { max: 300 },
      conditions,
    ),
  ];
}
