/**
 * Encoding speed side by side: node encode.mjs tokenizer.json[.gz] [more …] [--mb 8] [--ours]
 *
 * Every text is cut into chunks of 8,192 characters and each chunk is encoded once, so no text is seen twice. The
 * libraries take turns of 64 chunks; figures are MB of UTF-8 per CPU-second of this process. `--ours` skips the peers.
 * Peers (kitoken, tokenizers) come from bench/package.json; @dsi/tokenizer must be built.
 */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { Tokenizer } from '../../packages/tokenizer/dist/index.js';
import { texts } from './texts.mjs';

const args = process.argv.slice(2);
const mbAt = args.indexOf('--mb');
const megabytes = mbAt < 0 ? 8 : Number(args[mbAt + 1]);
const onlyOurs = args.includes('--ours');
const paths = args.filter((arg, i) => !arg.startsWith('--') && i !== mbAt + 1);

function cpuSeconds() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

async function load(json) {
  const bytes = Buffer.from(json);
  const makers = {
    dsi: async () => {
      const tokenizer = Tokenizer.fromJson(json);
      return (text) => tokenizer.encode(text, { addSpecialTokens: false, parseSpecial: true });
    },
    kitoken: async () => {
      const { Kitoken } = await import('kitoken/node');
      const tokenizer = new Kitoken(bytes);
      return (text) => tokenizer.encode(text, true);
    },
    tokenizers: async () => {
      const { Tokenizer: Native } = await import('tokenizers');
      const tokenizer = Native.fromString(json);
      return async (text) => (await tokenizer.encode(text, null, { addSpecialTokens: false })).getIds();
    },
  };
  const loaded = {};
  for (const [name, make] of Object.entries(makers)) {
    if (onlyOurs && name !== 'dsi') continue;
    const start = cpuSeconds();
    try {
      loaded[name] = await make();
      console.log(`  ${name}: loaded in ${((cpuSeconds() - start) * 1000).toFixed(0)} CPU ms`);
    } catch (error) {
      console.log(`  ${name}: not available (${error.message})`);
    }
  }
  return loaded;
}

function chunksOf(text) {
  const chunks = [];
  for (let i = 0; i < text.length; i += 8192) chunks.push(text.slice(i, i + 8192));
  return chunks;
}

const corpora = texts(megabytes);
for (const [name, text] of Object.entries(corpora)) {
  console.log(`${name}: ${(Buffer.byteLength(text) / 1e6).toFixed(1)} MB`);
}
for (const path of paths) {
  console.log(path);
  const raw = readFileSync(path);
  const libraries = await load((path.endsWith('.gz') ? gunzipSync(raw) : raw).toString('utf8'));
  for (const [textName, text] of Object.entries(corpora)) {
    const used = Object.fromEntries(Object.keys(libraries).map((name) => [name, { seconds: 0, ids: 0 }]));
    const chunks = chunksOf(text);
    for (let i = 0; i < chunks.length; i += 64) {
      for (const [name, encode] of Object.entries(libraries)) {
        const start = cpuSeconds();
        for (const chunk of chunks.slice(i, i + 64)) used[name].ids += (await encode(chunk)).length;
        used[name].seconds += cpuSeconds() - start;
      }
    }
    const size = Buffer.byteLength(text) / 1e6;
    const ids = new Set(Object.values(used).map((u) => u.ids));
    const figures = Object.entries(used).map(([name, u]) => `${name} ${(size / u.seconds).toFixed(1)}`);
    console.log(`  ${textName}: ${figures.join(', ')} MB/s, ${[...ids].join(' / ')} ids`);
  }
}
