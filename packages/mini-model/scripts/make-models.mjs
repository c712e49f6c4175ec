// Makes models/*.gguf from the trained bf16 checkpoints, with our own converter and quantiser:
//   node packages/mini-model/scripts/make-models.mjs DIR     (DIR holds dsi-mini-moe/ and dsi-mini-dense/ in Hugging Face layout)
// Together they must stay under 28 MiB. The embedding is only looked up, so it bears fewer bits than the products do.
import { statSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { convertToGguf } from '@dsi/model-files';

const limit = 28 * 2 ** 20;
const out = fileURLToPath(new URL('../models', import.meta.url));

/** Types by GGUF tensor name. Attention is small and sensitive; the experts are most of the bytes. */
const moeTypes = ({ name }) => {
  if (name === 'token_embd.weight') return 'Q3_K';
  if (name === 'output.weight') return 'Q4_K';
  if (name.includes('attn_k_b')) return 'Q8_0';
  if (/attn_(output|q_b)/.test(name)) return 'Q4_K';
  if (name.includes('attn_')) return 'Q5_K';
  if (name.includes('_exps')) return name.includes('down') ? 'Q4_K' : 'Q3_K';
  return 'Q4_K';
};
const denseTypes = () => 'Q4_K';

const source = process.argv[2];
if (!source) throw new Error('usage: make-models.mjs DIR');
let total = 0;
for (const [name, types] of [
  ['dsi-mini-moe', moeTypes],
  ['dsi-mini-dense', denseTypes],
]) {
  const file = path.join(out, `${name}.gguf`);
  const result = await convertToGguf(path.join(source, name), file, { types, name, mtp: 'skip' });
  for (const warning of result.warnings) console.log(`${name}: ${warning}`);
  const { size } = statSync(file);
  total += size;
  console.log(`${file}: ${size} bytes`);
}
console.log(`together ${total} bytes, ${((total / limit) * 100).toFixed(1)} % of the limit`);
if (total > limit) throw new Error(`over the limit of ${limit} bytes`);
