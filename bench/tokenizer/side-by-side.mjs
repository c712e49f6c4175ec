// Encoding speed of three libraries in one process, taking turns of 64 chunks; every chunk once. MB of UTF-8 per CPU-second.
import { Tokenizer } from '@dsi/tokenizer';

export function cpuSeconds() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/** Encoders by library name. */
export async function loadEncoders(json) {
  const { Kitoken } = await import('kitoken/node');
  const { Tokenizer: Native } = await import('tokenizers');
  const dsi = Tokenizer.fromJson(json);
  const kitoken = new Kitoken(Buffer.from(json));
  const native = Native.fromString(json);
  return {
    dsi: (text) => dsi.encode(text, { addSpecialTokens: false, parseSpecial: true }),
    kitoken: (text) => kitoken.encode(text, true),
    tokenizers: async (text) => (await native.encode(text, null, { addSpecialTokens: false })).getIds(),
  };
}

export function chunksOf(text, size = 8192) {
  const chunks = [];
  for (let i = 0; i < text.length; i += size) chunks.push(text.slice(i, i + size));
  return chunks;
}

/** {library: {mbPerSecond, ids}} */
export async function sideBySide(encoders, text) {
  const used = Object.fromEntries(Object.keys(encoders).map((name) => [name, { seconds: 0, ids: 0 }]));
  const chunks = chunksOf(text);
  for (let i = 0; i < chunks.length; i += 64) {
    for (const [name, encode] of Object.entries(encoders)) {
      const start = cpuSeconds();
      for (const chunk of chunks.slice(i, i + 64)) used[name].ids += (await encode(chunk)).length;
      used[name].seconds += cpuSeconds() - start;
    }
  }
  const megabytes = Buffer.byteLength(text) / 1e6;
  return Object.fromEntries(
    Object.entries(used).map(([name, u]) => [name, { mbPerSecond: megabytes / u.seconds, ids: u.ids }]),
  );
}
