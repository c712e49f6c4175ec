import { dequantize } from '@dsi/quantization';
import { copyFile, mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../test/temporary.js';
import {
  DuplicateNameError,
  LimitExceededError,
  MalformedFieldError,
  ModelNotFoundError,
  TensorLayoutError,
  TensorNotFoundError,
} from './errors.js';
import { gguf } from './gguf/fields.js';
import { readGgufHeader } from './gguf/header.js';
import type { GgufField } from './gguf/value.js';
import { writeGguf, type GgufTensor } from './gguf/write.js';
import { openModel } from './open-model.js';
import { writeSafetensors } from './safetensors/write.js';

const temporary = temporaryDirectory();
const floats = (...values: number[]): Uint8Array => new Uint8Array(Float32Array.from(values).buffer);

async function reference(): Promise<string> {
  const packed = await readFile(new URL('../test/fixtures/reference.gguf.gz', import.meta.url));
  return temporary.write('reference.gguf', gunzipSync(packed));
}

describe('GGUF', () => {
  it('reads what gguf-py wrote: every metadata type, shapes outermost first, tensor bytes', async () => {
    const model = await openModel(await reference());
    const { metadata } = model;
    expect(model.kind).toBe('gguf');
    expect(metadata.get('t.u8')).toBe(200);
    expect(metadata.get('t.i8')).toBe(-100);
    expect(metadata.get('t.u16')).toBe(60000);
    expect(metadata.get('t.i16')).toBe(-30000);
    expect(metadata.get('t.u32')).toBe(4000000000);
    expect(metadata.get('t.i32')).toBe(-2000000000);
    expect(metadata.get('t.f32')).toBe(1.5);
    expect(metadata.get('t.bool')).toBe(true);
    expect(metadata.get('t.string')).toBe('grüße 🦙');
    expect(metadata.get('t.u64')).toBe(2n ** 63n);
    expect(metadata.get('t.i64')).toBe(-(2 ** 40));
    expect(metadata.get('t.f64')).toBe(0.1);
    expect(metadata.get('t.strings')).toEqual(['', 'a', '▁b']);
    expect(metadata.get('t.floats')).toEqual(Float32Array.of(0.5, -2));
    expect(metadata.get('t.ints')).toEqual(Int32Array.of(1, -2, 3));
    expect(metadata.get('t.bools')).toEqual([true, false]);
    expect(model.tensors.get('half')).toMatchObject({ dtype: 'F16', shape: [2, 2, 32], byteLength: 256 });
    const expected = Float32Array.from({ length: 128 }, (_, i) => i / 8);
    expect(dequantize('F32', await model.read('plain'), 128)).toEqual(expected);
    expect(dequantize('F16', await model.read('half'), 128)).toEqual(expected);
    const blocks = dequantize('Q8_0', await model.read('blocks'), 128);
    for (let i = 0; i < 128; i++) expect(Math.abs(blocks[i]! - expected[i]!)).toBeLessThan(0.07);
    expect(await model.readRange('plain', 4, 12)).toEqual(floats(1 / 8, 2 / 8));
    await model.close();
  });

  it('writes what it read, byte for byte in meaning', async () => {
    const path = await reference();
    const header = await readGgufHeader(path);
    const model = await openModel(path);
    const copy = temporary.path('copy.gguf');
    const tensors = [...header.tensors.values()].map((t) => ({
      name: t.name,
      type: t.dtype as GgufTensor['type'],
      shape: t.shape,
      data: () => model.read(t.name),
    }));
    await writeGguf(copy, { metadata: header.fields, tensors, alignment: 64 });
    const again = await readGgufHeader(copy);
    const { ['general.alignment']: alignment, ...rest } = Object.fromEntries(again.fields);
    expect(alignment).toEqual(gguf.uint32(64));
    expect(rest).toEqual(Object.fromEntries(header.fields));
    const copied = await openModel(copy);
    for (const t of copied.tensors.values()) {
      expect(t.offset % 64).toBe(0);
      expect(await copied.read(t.name)).toEqual(await model.read(t.name));
    }
    await Promise.all([model.close(), copied.close()]);
  });

  it('opens a split model from any of its files', async () => {
    const part = (no: number, count: number, name: string, extra: [string, GgufField][] = []) =>
      writeGguf(temporary.path(`m-0000${no + 1}-of-0000${count}.gguf`), {
        metadata: new Map([
          ...extra,
          ['split.no', { type: 'uint16', value: no }],
          ['split.count', { type: 'uint16', value: count }],
          ['split.tensors.count', gguf.int32(2)],
        ]),
        tensors: [{ name, type: 'F32', shape: [1], data: floats(no) }],
      });
    await part(0, 2, 'a', [['general.architecture', gguf.string('llama')]]);
    const first = temporary.path('m-00001-of-00002.gguf');
    await expect(openModel(first)).rejects.toBeInstanceOf(ModelNotFoundError);
    await part(1, 2, 'b');
    for (const name of ['m-00001-of-00002.gguf', 'm-00002-of-00002.gguf']) {
      const model = await openModel(temporary.path(name));
      expect([...model.tensors.keys()]).toEqual(['a', 'b']);
      expect(model.metadata.get('general.architecture')).toBe('llama');
      expect(await model.read('b')).toEqual(floats(1));
      await model.close();
    }
    await part(1, 2, 'a');
    await expect(openModel(first)).rejects.toBeInstanceOf(DuplicateNameError);
    await copyFile(first, temporary.path('m-00002-of-00002.gguf'));
    await expect(openModel(first)).rejects.toThrow(/split.no is 0, expected 1/);
  });

  it('reads a vocabulary of 150,000 entries', async () => {
    const tokens = Array.from({ length: 151_936 }, (_, i) => (i % 7 === 0 ? `tök${i}` : `token${i}`));
    const path = temporary.path('vocabulary.gguf');
    await writeGguf(path, { metadata: new Map([['tokens', gguf.array(tokens)]]), tensors: [] });
    expect((await openModel(path)).metadata.get('tokens')).toEqual(tokens);
  });

  it('refuses to write what the format cannot hold, and leaves no file', async () => {
    const tensor = { name: 'a', type: 'F32', shape: [2], data: floats(1, 2) } as const;
    const attempt = (change: object, extra: object = {}) =>
      writeGguf(temporary.path('never.gguf'), { metadata: new Map(), tensors: [{ ...tensor, ...change }], ...extra });
    await expect(attempt({ data: floats(1) })).rejects.toBeInstanceOf(TensorLayoutError);
    await expect(attempt({ data: async () => floats(1, 2, 3) })).rejects.toThrow(
      /has 12 bytes, its type and shape need 8/,
    );
    await expect(attempt({ name: 'x'.repeat(64) })).rejects.toBeInstanceOf(LimitExceededError);
    await expect(attempt({ shape: [1, 1, 1, 1, 2] })).rejects.toBeInstanceOf(MalformedFieldError);
    await expect(attempt({}, { alignment: 48 })).rejects.toBeInstanceOf(MalformedFieldError);
    await expect(attempt({}, { tensors: [tensor, tensor] })).rejects.toBeInstanceOf(DuplicateNameError);
    for (const field of [gguf.uint32(-1), gguf.uint32(1.5), gguf.uint32(2 ** 32), { type: 'bool', value: 1 } as const])
      await expect(attempt({}, { metadata: new Map([['a', field]]) })).rejects.toBeInstanceOf(MalformedFieldError);
    expect((await readdir(temporary.path('.'))).filter((n) => n.includes('never'))).toEqual([]);
  });
});

describe('safetensors', () => {
  it('opens a file, a directory, and shards with an index', async () => {
    const directory = temporary.path('hf');
    await mkdir(directory);
    await writeSafetensors(`${directory}/model.safetensors`, {
      tensors: [
        { name: 'a', dtype: 'F32', shape: [2], data: floats(1, 2) },
        { name: 'b', dtype: 'U8', shape: [3], data: async () => Uint8Array.of(1, 2, 3) },
      ],
    });
    await writeFile(`${directory}/config.json`, '{"model_type":"llama"}');
    await writeFile(`${directory}/tokenizer_config.json`, '{"chat_template":[{"name":"default","template":"hi"}]}');
    for (const path of [directory, `${directory}/model.safetensors`]) {
      const model = await openModel(path);
      expect(model.config).toEqual({ model_type: 'llama' });
      expect(model.generationConfig).toBeUndefined();
      expect(await model.tokenizerJson!()).toBeUndefined();
      expect(await model.chatTemplate!()).toBe('hi');
      expect(await model.read('a')).toEqual(floats(1, 2));
      expect(await model.read('b')).toEqual(Uint8Array.of(1, 2, 3));
      await expect(model.read('c')).rejects.toBeInstanceOf(TensorNotFoundError);
      await expect(model.readRange('b', 1, 4)).rejects.toBeInstanceOf(LimitExceededError);
      await model.close();
    }
    const index = (map: object) =>
      writeFile(`${directory}/model.safetensors.index.json`, JSON.stringify({ weight_map: map }));
    await index({ a: 'model.safetensors', b: 'model.safetensors' });
    expect((await openModel(directory)).tensors.size).toBe(2);
    await index({ a: 'model.safetensors', z: 'model.safetensors' });
    await expect(openModel(directory)).rejects.toBeInstanceOf(TensorNotFoundError);
    await index({ a: '../hf/model.safetensors' });
    await expect(openModel(directory)).rejects.toBeInstanceOf(MalformedFieldError);
    await index({ a: 'gone.safetensors' });
    await expect(openModel(directory)).rejects.toBeInstanceOf(ModelNotFoundError);
    await writeFile(`${directory}/model.safetensors.index.json`, '[1');
    await expect(openModel(directory)).rejects.toBeInstanceOf(MalformedFieldError);
  });

  it('says what it looked for', async () => {
    await expect(openModel(temporary.path('nothing'))).rejects.toBeInstanceOf(ModelNotFoundError);
    await expect(openModel(await temporary.write('a.txt', 'x'))).rejects.toThrow(/neither a .gguf nor a .safetensors/);
    await mkdir(temporary.path('empty'));
    await expect(openModel(temporary.path('empty'))).rejects.toThrow(/model.safetensors is there/);
  });
});
