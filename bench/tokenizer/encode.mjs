// Encoding speed of any tokenizer.json: node encode.mjs tokenizer.json[.gz] [more ...] [--mb 8]
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { parseArgs } from 'node:util';
import { loadEncoders, sideBySide } from './side-by-side.mjs';
import { texts } from './texts.mjs';

const { values, positionals } = parseArgs({ options: { mb: { type: 'string' } }, allowPositionals: true });
const corpora = texts(Number(values.mb ?? 8));
for (const file of positionals) {
  console.log(file);
  const raw = readFileSync(file);
  const encoders = await loadEncoders((file.endsWith('.gz') ? gunzipSync(raw) : raw).toString('utf8'));
  for (const [name, text] of Object.entries(corpora)) {
    const result = await sideBySide(encoders, text);
    const figures = Object.entries(result).map(
      ([library, r]) => `${library} ${r.mbPerSecond.toFixed(1)} MB/s (${r.ids} ids)`,
    );
    console.log(`  ${name}, ${(Buffer.byteLength(text) / 1e6).toFixed(1)} MB: ${figures.join(', ')}`);
  }
}
