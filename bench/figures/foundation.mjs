// npm run figures:foundation -- [--json] [--only tokenizer,load,speed,event-loop,clone] [--models DIR]
import { existsSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { failedRow, machine, printTable } from './rows.mjs';

const { values } = parseArgs({
  options: {
    json: { type: 'boolean' },
    only: { type: 'string' },
    models: { type: 'string' },
    rounds: { type: 'string' },
  },
});
const root = fileURLToPath(new URL('../..', import.meta.url));
const models = values.models ?? path.join(os.tmpdir(), 'dsi-bench-models');
const only = values.only?.split(',');
const rounds = Number(values.rounds ?? 3);

const parts = {
  tokenizer: async () => (await import('./tokenizer.mjs')).tokenizerRows(),
  load: async () => (await import('./load.mjs')).loadRows(models),
  speed: async () => {
    const { peerSpeedRows } = await import('./peer-speed.mjs');
    const rows = [];
    for (const quant of ['Q8_0', 'Q4_K_M'])
      rows.push(...(await peerSpeedRows(models, 'qwen2.5-0.5b', quant, { rounds })));
    return rows;
  },
  'event-loop': async () => (await import('./event-loop.mjs')).eventLoopRows(models, root),
  clone: async () => (await import('./fresh-clone.mjs')).freshCloneRows(root),
};

if (!existsSync(path.join(root, 'packages/engine/dist/index.js'))) throw new Error('Build first: npm run build');
const rows = [];
for (const [name, run] of Object.entries(parts)) {
  if (only && !only.includes(name)) continue;
  if (!values.json) console.error(`measuring ${name} ...`);
  try {
    rows.push(...(await run()));
  } catch (error) {
    rows.push(failedRow(name, 'to be measured', error));
  }
}
const date = new Date().toISOString();
const report = rows.map((r) => ({ ...r, conditions: { ...r.conditions, machine: machine(), date } }));
if (values.json) console.log(JSON.stringify(report, null, 1));
else printTable(report);
process.exitCode = 0;
