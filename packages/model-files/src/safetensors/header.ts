import { isUtf8 } from 'node:buffer';
import { open, type FileHandle } from 'node:fs/promises';
import {
  DuplicateNameError,
  LimitExceededError,
  MalformedFieldError,
  TensorLayoutError,
  TruncatedFileError,
  UnknownTypeError,
} from '../errors.js';
import type { TensorInfo } from '../model-files.js';
import { checkNoOverlap } from '../tensor-layout.js';
import { safetensorsBits } from './dtype.js';
import { JsonScanner } from './json-scanner.js';

export interface SafetensorsHeader {
  readonly tensors: ReadonlyMap<string, TensorInfo>;
  /** The free-form `__metadata__` strings. */
  readonly metadata: ReadonlyMap<string, string>;
}

/** The limit of the reference implementation. */
const maxHeaderBytes = 100_000_000;
const maxDimensions = 16;

function parseTensor(json: JsonScanner, file: string, name: string, dataStart: number, dataBytes: number): TensorInfo {
  const field = `tensor ${name}`;
  let dtype: string | undefined;
  let shape: number[] | undefined;
  let range: number[] | undefined;
  json.object((key) => {
    if (key === 'dtype' && dtype === undefined) dtype = json.string();
    else if (key === 'shape' && shape === undefined) shape = json.integers(maxDimensions);
    else if (key === 'data_offsets' && range === undefined) range = json.integers(2);
    else
      throw new MalformedFieldError(`${field} has the key ${JSON.stringify(key)} twice, or it is not known`, {
        file,
        field,
        value: key,
        limit: 'dtype, shape and data_offsets, once each',
      });
  });
  if (dtype === undefined || shape === undefined || range?.length !== 2)
    throw new MalformedFieldError(`${field} lacks dtype, shape or two data_offsets`, { file, field });
  const [begin, end] = range as [number, number];
  const bits = safetensorsBits.get(dtype);
  if (bits === undefined)
    throw new UnknownTypeError(`${field} has dtype ${dtype}; known are ${[...safetensorsBits.keys()].join(', ')}`, {
      file,
      field,
      value: dtype,
    });
  const elements = shape.reduce((a, b) => a * b, 1);
  if (!Number.isSafeInteger(elements * bits))
    throw new LimitExceededError(`${field} of shape [${shape.join(', ')}] has more than 2^53 bits`, {
      file,
      field,
      value: elements,
      limit: Number.MAX_SAFE_INTEGER,
    });
  const byteLength = (elements * bits) / 8;
  if (begin > end || end > dataBytes)
    throw new TensorLayoutError(`${field} has data_offsets [${begin}, ${end}], the data has ${dataBytes} bytes`, {
      file,
      field,
      value: end,
      limit: dataBytes,
    });
  if (end - begin !== byteLength)
    throw new TensorLayoutError(
      `${field} is ${dtype} [${shape.join(', ')}] = ${byteLength} bytes, but its data_offsets span ${end - begin}`,
      { file, field, value: end - begin, limit: byteLength },
    );
  return { name, dtype, shape, file, offset: dataStart + begin, byteLength };
}

function parseHeader(text: string, file: string, dataStart: number, fileSize: number): SafetensorsHeader {
  const tensors = new Map<string, TensorInfo>();
  const metadata = new Map<string, string>();
  const names = new Set<string>();
  const json = new JsonScanner(file, text);
  const once = (seen: { has(key: string): boolean }, key: string, field: string): void => {
    if (seen.has(key)) throw new DuplicateNameError(`${field} occurs twice`, { file, field, value: key });
  };
  json.object((name) => {
    once(names, name, `tensor ${name}`);
    names.add(name);
    if (name === '__metadata__')
      json.object((key) => {
        once(metadata, key, `__metadata__.${key}`);
        metadata.set(key, json.string());
      });
    else tensors.set(name, parseTensor(json, file, name, dataStart, fileSize - dataStart));
  });
  json.end();

  // The format leaves no gaps, so that nothing can hide between tensors.
  let expected = dataStart;
  for (const t of checkNoOverlap(tensors.values())) {
    if (t.offset !== expected)
      throw new TensorLayoutError(`tensor ${t.name} begins at byte ${t.offset}, the one before ends at ${expected}`, {
        file,
        field: `tensor ${t.name}`,
        value: t.offset,
        limit: expected,
      });
    expected = t.offset + t.byteLength;
  }
  if (expected !== fileSize)
    throw new TensorLayoutError(`the tensors end at byte ${expected}, the file at ${fileSize}`, {
      file,
      field: 'file size',
      value: fileSize,
      limit: expected,
    });
  return { tensors, metadata };
}

async function readExactly(handle: FileHandle, file: string, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafeSlow(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await handle.read(bytes, filled, length - filled, position + filled);
    if (bytesRead === 0)
      throw new TruncatedFileError('the file became shorter while it was read', { file, field: 'header' });
    filled += bytesRead;
  }
  return bytes;
}

/**
 * Reads the header of a safetensors file. Every offset is checked against the dtype, the shape and the file's size.
 *
 * @throws ModelFileError (a subclass) if the file is not a valid safetensors file
 */
export async function readSafetensorsHeader(file: string): Promise<SafetensorsHeader> {
  const handle = await open(file, 'r');
  try {
    const { size } = await handle.stat();
    if (size < 8)
      throw new TruncatedFileError(`${size} bytes are too few for a safetensors file`, {
        file,
        field: 'header length',
        value: size,
        limit: 8,
      });
    const length = (await readExactly(handle, file, 0, 8)).readBigUInt64LE(0);
    if (length > BigInt(Math.min(maxHeaderBytes, size - 8)))
      throw new LimitExceededError(
        `the header length is ${length}, at most ${Math.min(maxHeaderBytes, size - 8)} is possible here`,
        { file, field: 'header length', value: length, limit: Math.min(maxHeaderBytes, size - 8) },
      );
    const bytes = await readExactly(handle, file, 8, Number(length));
    if (!isUtf8(bytes)) throw new MalformedFieldError('the header is no valid UTF-8', { file, field: 'header JSON' });
    return parseHeader(bytes.toString('utf8'), file, 8 + Number(length), size);
  } finally {
    await handle.close();
  }
}
