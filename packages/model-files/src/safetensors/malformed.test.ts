import { describe, expect, it } from 'vitest';
import { Bytes, safetensorsFile } from '../../test/bytes.js';
import { temporaryDirectory } from '../../test/temporary.js';
import {
  DuplicateNameError,
  LimitExceededError,
  MalformedFieldError,
  ModelFileError,
  TensorLayoutError,
  TruncatedFileError,
  UnknownTypeError,
} from '../errors.js';
import { openModel } from '../open-model.js';

const temporary = temporaryDirectory();
const f32 = (begin: number, end: number, shape = '[1]'): string =>
  `{"dtype":"F32","shape":${shape},"data_offsets":[${begin},${end}]}`;

const corpus: readonly (readonly [string, Buffer, new (...args: never[]) => ModelFileError])[] = [
  ['an empty file', Buffer.alloc(0), TruncatedFileError],
  ['seven bytes', Buffer.alloc(7), TruncatedFileError],
  ['a header length of 2^63', safetensorsFile('{}', 0, 2n ** 63n), LimitExceededError],
  ['a header length of 2^64 - 1', safetensorsFile('{}', 0, -1n), LimitExceededError],
  ['a header past the end', safetensorsFile('{}', 0, 3), LimitExceededError],
  ['a header length of 0', safetensorsFile('', 0), MalformedFieldError],
  ['a header that is no JSON', safetensorsFile('hello'), MalformedFieldError],
  ['a header that is an array', safetensorsFile('[]'), MalformedFieldError],
  ['a header that is cut', safetensorsFile('{"a":'), MalformedFieldError],
  ['something after the header object', safetensorsFile('{} {}'), MalformedFieldError],
  [
    'a header that is no UTF-8',
    new Bytes()
      .u64(4)
      .raw(Buffer.from([0x7b, 0xff, 0xfe, 0x7d]))
      .build(),
    MalformedFieldError,
  ],
  ['braces nested 100,000 deep', safetensorsFile('{"a":'.repeat(100_000)), MalformedFieldError],
  [
    'brackets nested 100,000 deep',
    safetensorsFile(`{"a":{"dtype":"F32","shape":${'['.repeat(100_000)}`),
    MalformedFieldError,
  ],
  ['a tensor that is a number', safetensorsFile('{"a":1}'), MalformedFieldError],
  ['a tensor without a dtype', safetensorsFile('{"a":{"shape":[1],"data_offsets":[0,4]}}', 4), MalformedFieldError],
  ['a tensor without offsets', safetensorsFile('{"a":{"dtype":"F32","shape":[1]}}', 4), MalformedFieldError],
  [
    'three offsets',
    safetensorsFile('{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4,4]}}', 4),
    MalformedFieldError,
  ],
  [
    'an unknown key in a tensor',
    safetensorsFile('{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1}}', 4),
    MalformedFieldError,
  ],
  [
    'a dtype twice',
    safetensorsFile('{"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}}', 4),
    MalformedFieldError,
  ],
  ['a tensor twice', safetensorsFile(`{"a":${f32(0, 4)},"a":${f32(0, 4)}}`, 4), DuplicateNameError],
  ['the metadata twice', safetensorsFile('{"__metadata__":{},"__metadata__":{}}'), DuplicateNameError],
  ['a metadata key twice', safetensorsFile('{"__metadata__":{"a":"1","a":"2"}}'), DuplicateNameError],
  ['metadata that is no string', safetensorsFile('{"__metadata__":{"a":1}}'), MalformedFieldError],
  ['an unknown dtype', safetensorsFile('{"a":{"dtype":"F33","shape":[1],"data_offsets":[0,4]}}', 4), UnknownTypeError],
  ['a negative size', safetensorsFile(`{"a":${f32(0, 4, '[-1]')}}`, 4), MalformedFieldError],
  ['a fractional size', safetensorsFile(`{"a":${f32(0, 4, '[1.5]')}}`, 4), MalformedFieldError],
  ['a size of 1e3', safetensorsFile(`{"a":${f32(0, 4, '[1e3]')}}`, 4), MalformedFieldError],
  ['a size of 2^64', safetensorsFile(`{"a":${f32(0, 4, '[18446744073709551616]')}}`, 4), MalformedFieldError],
  [
    'a shape whose product passes 2^53',
    safetensorsFile(`{"a":${f32(0, 4, '[4294967296,4294967296]')}}`, 4),
    LimitExceededError,
  ],
  ['seventeen dimensions', safetensorsFile(`{"a":${f32(0, 4, `[${Array(17).fill(1)}]`)}}`, 4), MalformedFieldError],
  ['offsets past the end', safetensorsFile(`{"a":${f32(0, 8, '[2]')}}`, 4), TensorLayoutError],
  ['offsets that end before they begin', safetensorsFile(`{"a":${f32(4, 0)}}`, 4), TensorLayoutError],
  ['offsets that do not fit the shape', safetensorsFile(`{"a":${f32(0, 4, '[2]')}}`, 4), TensorLayoutError],
  ['overlapping tensors', safetensorsFile(`{"a":${f32(0, 4)},"b":${f32(2, 6)}}`, 6), TensorLayoutError],
  ['a gap between tensors', safetensorsFile(`{"a":${f32(0, 4)},"b":${f32(8, 12)}}`, 12), TensorLayoutError],
  ['bytes after the last tensor', safetensorsFile(`{"a":${f32(0, 4)}}`, 5), TensorLayoutError],
  ['half a byte', safetensorsFile('{"a":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}}', 2), TensorLayoutError],
  ['a string that is not closed', safetensorsFile('{"a'), MalformedFieldError],
  ['a raw line break in a string', safetensorsFile('{"a\n":1}'), MalformedFieldError],
  ['a wrong escape', safetensorsFile('{"\\x":1}'), MalformedFieldError],
];

describe('malformed safetensors files', () => {
  it.each(corpus.map(([name, bytes, error], i) => ({ name, bytes, error, i })))(
    'refuses $name',
    async ({ bytes, error, i }) => {
      const path = await temporary.write(`broken-${i}.safetensors`, bytes);
      const before = process.memoryUsage();
      const failure = await openModel(path).then(
        () => undefined,
        (e: unknown) => e,
      );
      const after = process.memoryUsage();
      expect(failure).toBeInstanceOf(error);
      expect((failure as ModelFileError).file).toBe(path);
      expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(8 * 2 ** 20);
    },
  );

  it('accepts escapes, white space and empty tensors', async () => {
    const header = ` {"\\u0061\\n" : ${f32(0, 4)} ,\t"b":${f32(4, 4, '[0,3]')}, "__metadata__":{"k":"v"}} `;
    const model = await openModel(await temporary.write('odd.safetensors', safetensorsFile(header, 4)));
    expect([...model.tensors.keys()]).toEqual(['a\n', 'b']);
    expect(await model.read('b')).toHaveLength(0);
    await model.close();
  });
});
