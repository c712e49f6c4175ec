import { describe, expect, it } from 'vitest';
import { Bytes, ggufStart, ggufWithTensors } from '../../test/bytes.js';
import { temporaryDirectory } from '../../test/temporary.js';
import {
  BadMagicError,
  DuplicateNameError,
  LimitExceededError,
  MalformedFieldError,
  ModelFileError,
  TensorLayoutError,
  TruncatedFileError,
  UnknownTypeError,
  UnsupportedVersionError,
} from '../errors.js';
import { openModel } from '../open-model.js';

const temporary = temporaryDirectory();
const huge = 2n ** 63n - 1n;

function nestedArrays(depth: number): Buffer {
  const out = ggufStart(0, 1).string('deep').u32(9);
  for (let i = 0; i < depth; i++) out.u32(9).u64(1);
  return out.u32(0).u64(0).raw(Buffer.alloc(64)).build();
}

function withAlignment(type: number, value: Buffer): Buffer {
  return ggufStart(0, 1).string('general.alignment').u32(type).raw(value).build();
}

const u32 = (value: number): Buffer => new Bytes().u32(value).build();
const f32 = (name: string, dims: (number | bigint)[], offset: number | bigint) => ({ name, dims, type: 0, offset });

const corpus: readonly (readonly [string, Buffer, new (...args: never[]) => ModelFileError])[] = [
  ['an empty file', Buffer.alloc(0), TruncatedFileError],
  ['one byte', Buffer.from('G'), TruncatedFileError],
  ['only the magic', Buffer.from('GGUF'), TruncatedFileError],
  ['another magic', Buffer.from('GGML\x03\0\0\0aaaaaaaaaaaaaaaa'), BadMagicError],
  ['a zip file', Buffer.from('PK\x03\x04aaaaaaaaaaaaaaaaaaaaaaaa'), BadMagicError],
  ['version 1', new Bytes().raw('GGUF').u32(1).u64(0).u64(0).build(), UnsupportedVersionError],
  ['version 0', new Bytes().raw('GGUF').u32(0).u64(0).u64(0).build(), UnsupportedVersionError],
  ['version 4', new Bytes().raw('GGUF').u32(4).u64(0).u64(0).build(), UnsupportedVersionError],
  ['big-endian version 3', new Bytes().raw('GGUF').u32(0x03000000).u64(0).u64(0).build(), UnsupportedVersionError],
  ['the file ends after the version', new Bytes().raw('GGUF').u32(3).build(), TruncatedFileError],
  ['the file ends inside the counts', new Bytes().raw('GGUF').u32(3).u64(0).raw('abc').build(), TruncatedFileError],
  ['tensor count 2^63 - 1', ggufStart(huge, 0).raw(Buffer.alloc(19)).build(), LimitExceededError],
  ['tensor count 2^64 - 1', ggufStart(-1n, 0).build(), LimitExceededError],
  ['metadata count 2^63 - 1', ggufStart(0, huge).raw(Buffer.alloc(19)).build(), LimitExceededError],
  ['one tensor more than can fit', ggufStart(3, 0).raw(Buffer.alloc(48)).build(), LimitExceededError],
  ['a key longer than the file', ggufStart(0, 1).u64(10_000).raw(Buffer.alloc(30)).build(), LimitExceededError],
  [
    'a key of 2^63 bytes',
    ggufStart(0, 1)
      .u64(2n ** 63n)
      .raw(Buffer.alloc(30))
      .build(),
    LimitExceededError,
  ],
  ['an empty key', ggufStart(0, 1).string('').u32(0).raw(Buffer.alloc(16)).build(), MalformedFieldError],
  [
    'a key that is no UTF-8',
    ggufStart(0, 1)
      .u64(2)
      .raw(Buffer.from([0xff, 0xfe]))
      .u32(0)
      .raw(Buffer.alloc(9))
      .build(),
    MalformedFieldError,
  ],
  ['a key twice', ggufStart(0, 2).string('a').u32(0).raw('x').string('a').u32(0).raw('y').build(), DuplicateNameError],
  ['a metadata type of 13', ggufStart(0, 1).string('a').u32(13).u64(0).build(), UnknownTypeError],
  ['a metadata type of 2^32 - 1', ggufStart(0, 1).string('a').u32(0xffffffff).u64(0).build(), UnknownTypeError],
  ['a bool of 2', ggufStart(0, 1).string('a').u32(7).raw('\x02').build(), MalformedFieldError],
  [
    'a bool of 2 in an array',
    ggufStart(0, 1).string('a').u32(9).u32(7).u64(2).raw('\x01\x02').build(),
    MalformedFieldError,
  ],
  [
    'a string longer than the file',
    ggufStart(0, 1).string('a').u32(8).u64(1000).raw('abc').build(),
    LimitExceededError,
  ],
  ['a string of 2^64 - 1 bytes', ggufStart(0, 1).string('a').u32(8).u64(-1n).raw('abc').build(), LimitExceededError],
  ['an array of 2^63 - 1 bytes', ggufStart(0, 1).string('a').u32(9).u32(0).u64(huge).build(), LimitExceededError],
  [
    'an array of 2^61 float64',
    ggufStart(0, 1)
      .string('a')
      .u32(9)
      .u32(12)
      .u64(2n ** 61n)
      .build(),
    LimitExceededError,
  ],
  [
    'an array of 2^40 strings',
    ggufStart(0, 1)
      .string('a')
      .u32(9)
      .u32(8)
      .u64(2n ** 40n)
      .build(),
    LimitExceededError,
  ],
  [
    'an array of more strings than bytes',
    ggufStart(0, 1).string('a').u32(9).u32(8).u64(2).u64(0).build(),
    LimitExceededError,
  ],
  [
    'a string in an array that passes the end',
    ggufStart(0, 1).string('a').u32(9).u32(8).u64(1).u64(huge).raw('ab').build(),
    TruncatedFileError,
  ],
  ['an array of an unknown type', ggufStart(0, 1).string('a').u32(9).u32(77).u64(0).build(), UnknownTypeError],
  ['arrays nested 5 deep', nestedArrays(5), LimitExceededError],
  ['arrays nested 1,000 deep', nestedArrays(1000), LimitExceededError],
  ['a float64 that the file cuts', ggufStart(0, 1).string('abcdef').u32(12).raw('1234').build(), TruncatedFileError],
  ['alignment 0', withAlignment(4, u32(0)), MalformedFieldError],
  ['alignment 3', withAlignment(4, u32(3)), MalformedFieldError],
  ['alignment 2^30', withAlignment(4, u32(2 ** 30)), MalformedFieldError],
  ['alignment 2^31', withAlignment(4, u32(2 ** 31)), MalformedFieldError],
  ['alignment as a string', withAlignment(8, new Bytes().string('32').build()), MalformedFieldError],
  ['alignment as uint64', withAlignment(10, new Bytes().u64(32).build()), MalformedFieldError],
  ['an empty tensor name', ggufWithTensors([f32('', [1], 0)], 4), MalformedFieldError],
  ['a tensor twice', ggufWithTensors([f32('a', [1], 0), f32('a', [1], 32)], 64), DuplicateNameError],
  ['five dimensions', ggufWithTensors([f32('a', [1, 1, 1, 1, 1], 0)], 4), LimitExceededError],
  [
    '2^32 - 1 dimensions',
    ggufStart(1, 0).string('a').u32(0xffffffff).raw(Buffer.alloc(64)).build(),
    LimitExceededError,
  ],
  ['a dimension of 2^63', ggufWithTensors([f32('a', [2n ** 63n], 0)], 4), LimitExceededError],
  [
    'dimensions whose product passes 2^64',
    ggufWithTensors([f32('a', [2 ** 32, 2 ** 32, 4], 0)], 4),
    LimitExceededError,
  ],
  [
    'dimensions whose product wraps to 4',
    ggufWithTensors([f32('a', [2n ** 52n, 2 ** 10, 4], 0)], 16),
    LimitExceededError,
  ],
  ['a tensor larger than the file', ggufWithTensors([f32('a', [1024], 0)], 100), TensorLayoutError],
  [
    'a tensor type of 4 (removed)',
    ggufWithTensors([{ name: 'a', dims: [32], type: 4, offset: 0 }], 32),
    UnknownTypeError,
  ],
  [
    'a tensor type of 2^31',
    ggufWithTensors([{ name: 'a', dims: [32], type: 2 ** 31, offset: 0 }], 32),
    UnknownTypeError,
  ],
  [
    'a row of 33 weights in Q4_0',
    ggufWithTensors([{ name: 'a', dims: [33], type: 2, offset: 0 }], 64),
    TensorLayoutError,
  ],
  ['a misaligned offset', ggufWithTensors([f32('a', [1], 4)], 64), TensorLayoutError],
  ['an offset past the end', ggufWithTensors([f32('a', [1], 64)], 32), TensorLayoutError],
  ['an offset of 2^63', ggufWithTensors([f32('a', [1], 2n ** 63n)], 32), LimitExceededError],
  ['an offset of 2^64 - 32', ggufWithTensors([f32('a', [1], -32n)], 32), LimitExceededError],
  ['overlapping tensors', ggufWithTensors([f32('a', [16], 0), f32('b', [1], 32)], 64), TensorLayoutError],
  ['the same bytes twice', ggufWithTensors([f32('a', [1], 0), f32('b', [1], 0)], 64), TensorLayoutError],
  ['data cut by one byte', ggufWithTensors([f32('a', [8], 0)], 31), TensorLayoutError],
];

describe('malformed GGUF files', () => {
  it.each(corpus.map(([name, bytes, error], i) => ({ name, bytes, error, i })))(
    'refuses $name',
    async ({ bytes, error, i }) => {
      const path = await temporary.write(`broken-${i}.gguf`, bytes);
      const before = process.memoryUsage();
      const failure = await openModel(path).then(
        () => undefined,
        (e: unknown) => e,
      );
      const after = process.memoryUsage();
      expect(failure).toBeInstanceOf(error);
      const { file, field, message } = failure as ModelFileError;
      expect(file).toBe(path);
      expect(field).not.toBe('');
      expect(message).toContain(path);
      // Nothing is allocated by a claim of the file: all of them are smaller than 100 kB.
      expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(8 * 2 ** 20);
    },
  );

  it('says which value broke which limit', async () => {
    const path = await temporary.write('count.gguf', ggufStart(huge, 0).raw(Buffer.alloc(100)).build());
    await expect(openModel(path)).rejects.toMatchObject({ field: 'tensor count', value: huge, limit: 4 });
  });
});
