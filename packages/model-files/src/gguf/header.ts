import { formatByGgmlId, type BlockFormat } from '@dsi/quantization';
import { open, type FileHandle } from 'node:fs/promises';
import {
  BadMagicError,
  DuplicateNameError,
  LimitExceededError,
  MalformedFieldError,
  TensorLayoutError,
  UnknownTypeError,
  UnsupportedVersionError,
} from '../errors.js';
import type { TensorInfo } from '../model-files.js';
import { checkNoOverlap } from '../tensor-layout.js';
import { ByteCursor, NeedMoreBytes } from './byte-cursor.js';
import { readField } from './parse-field.js';
import type { GgufField } from './value.js';

/** Everything in a GGUF file before the tensor data. */
export interface GgufHeader {
  readonly version: number;
  readonly fields: ReadonlyMap<string, GgufField>;
  readonly tensors: ReadonlyMap<string, TensorInfo>;
  readonly alignment: number;
  /** First byte of the tensor data. */
  readonly dataOffset: number;
  readonly fileSize: number;
}

const magic = 0x46554747; // "GGUF"
const defaultAlignment = 32;
const maxAlignment = 1 << 20;
const maxDimensions = 4;
const maxNameBytes = 65535;
/** Metadata and tensor table together; the largest known vocabularies need about 20 MB. */
const maxHeaderBytes = 512 * 2 ** 20;
const firstRead = 2 * 2 ** 20;

/** Keeps a growing prefix of a file in memory and resumes a parsing step, from its last commit, with more bytes. */
class PrefixParser {
  readonly cursor: ByteCursor;
  private prefix = Buffer.alloc(0);

  constructor(
    private readonly handle: FileHandle,
    file: string,
    fileSize: number,
  ) {
    this.cursor = new ByteCursor(file, fileSize, this.prefix);
  }

  async step<T>(read: (cursor: ByteCursor) => T): Promise<T> {
    this.cursor.commit();
    for (;;) {
      try {
        return read(this.cursor);
      } catch (error) {
        if (!(error instanceof NeedMoreBytes)) throw error;
        this.cursor.rewind();
        await this.grow(error.end);
      }
    }
  }

  private async grow(end: number): Promise<void> {
    const { file, fileSize } = this.cursor;
    if (end > maxHeaderBytes)
      throw new LimitExceededError(`the header reaches byte ${end}, at most ${maxHeaderBytes} are read`, {
        file,
        field: 'header',
        value: end,
        limit: maxHeaderBytes,
      });
    const size = Math.min(fileSize, Math.max(end, firstRead, this.prefix.length * 4));
    const next = Buffer.allocUnsafeSlow(size);
    this.prefix.copy(next);
    let filled = this.prefix.length;
    while (filled < size) {
      const { bytesRead } = await this.handle.read(next, filled, size - filled, filled);
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    if (filled < end)
      throw new MalformedFieldError('the file became shorter while it was read', { file, field: 'file size' });
    this.prefix = next.subarray(0, filled);
    this.cursor.extend(this.prefix);
  }
}

function readPreamble(cursor: ByteCursor): { version: number; tensorCount: number; fieldCount: number } {
  const { file } = cursor;
  const found = cursor.u32('magic');
  if (found !== magic)
    throw new BadMagicError(`not a GGUF file: it begins with 0x${found.toString(16).padStart(8, '0')}, not "GGUF"`, {
      file,
      field: 'magic',
      value: found,
      limit: magic,
    });
  const version = cursor.u32('version');
  if (version !== 0 && (version & 0xffff) === 0)
    throw new UnsupportedVersionError('a big-endian GGUF file; convert it with gguf_convert_endian', {
      file,
      field: 'version',
      value: version,
      limit: 'little-endian',
    });
  if (version !== 2 && version !== 3)
    throw new UnsupportedVersionError(`GGUF version ${version}; versions 2 and 3 are read`, {
      file,
      field: 'version',
      value: version,
      limit: '2 or 3',
    });
  // Smallest tensor entry: empty name, no dimensions, type, offset. Smallest field: empty key, type, one byte.
  const tensorCount = cursor.count('tensor count', Math.floor(Math.max(0, cursor.remaining - 16) / 24));
  const fieldCount = cursor.count('metadata count', Math.floor(Math.max(0, cursor.remaining - 8) / 13));
  return { version, tensorCount, fieldCount };
}

function readName(cursor: ByteCursor, field: string): string {
  const name = cursor.string(field, maxNameBytes);
  if (name.length === 0 || name.includes('\uFFFD'))
    throw new MalformedFieldError(`${field} is ${name === '' ? 'empty' : `no valid UTF-8: ${JSON.stringify(name)}`}`, {
      file: cursor.file,
      field,
      value: name,
      limit: `1 to ${maxNameBytes} bytes of UTF-8`,
    });
  return name;
}

function readAlignment(file: string, fields: ReadonlyMap<string, GgufField>): number {
  const field = fields.get('general.alignment');
  if (field === undefined) return defaultAlignment;
  const value = field.type === 'uint32' ? (field.value as number) : -1;
  if (value <= 0 || (value & (value - 1)) !== 0 || value > maxAlignment)
    throw new MalformedFieldError(`general.alignment is ${String(field.value).slice(0, 40)} (${field.type})`, {
      file,
      field: 'general.alignment',
      value: String(field.value).slice(0, 40),
      limit: `a uint32 power of two up to ${maxAlignment}`,
    });
  return value;
}

interface TensorEntry {
  readonly name: string;
  readonly format: BlockFormat;
  readonly shape: readonly number[];
  readonly byteLength: number;
  readonly relativeOffset: number;
}

function readTensorEntry(cursor: ByteCursor): TensorEntry {
  const { file } = cursor;
  const name = readName(cursor, 'tensor name');
  const field = `tensor ${name}`;
  const dimensions = cursor.u32(`dimension count of ${field}`);
  if (dimensions > maxDimensions)
    throw new LimitExceededError(`${field} has ${dimensions} dimensions, at most ${maxDimensions} are allowed`, {
      file,
      field,
      value: dimensions,
      limit: maxDimensions,
    });
  const shape: number[] = [];
  let elements = 1;
  for (let i = 0; i < dimensions; i++) {
    const size = cursor.count(`dimension ${i} of ${field}`, Number.MAX_SAFE_INTEGER);
    elements *= size;
    if (!Number.isSafeInteger(elements))
      throw new LimitExceededError(`${field} has more than 2^53 elements`, {
        file,
        field,
        value: elements,
        limit: Number.MAX_SAFE_INTEGER,
      });
    shape.unshift(size);
  }
  const typeId = cursor.u32(`type of ${field}`);
  let format: BlockFormat;
  try {
    format = formatByGgmlId(typeId);
  } catch (cause) {
    throw new UnknownTypeError(
      `${field} has ggml type ${typeId}, which is not known`,
      { file, field, value: typeId, limit: 'a ggml type that @dsi/quantization lists' },
      { cause },
    );
  }
  const rowLength = shape.at(-1) ?? 1;
  if (rowLength % format.blockSize !== 0)
    throw new TensorLayoutError(
      `${field} has rows of ${rowLength} elements, ${format.name} needs a multiple of ${format.blockSize}`,
      { file, field, value: rowLength, limit: format.blockSize },
    );
  const relativeOffset = cursor.count(`offset of ${field}`, cursor.fileSize);
  return { name, format, shape, byteLength: (elements / format.blockSize) * format.blockBytes, relativeOffset };
}

function placeTensor(entry: TensorEntry, file: string, dataOffset: number, alignment: number, fileSize: number) {
  const field = `tensor ${entry.name}`;
  if (entry.relativeOffset % alignment !== 0)
    throw new TensorLayoutError(`${field} begins at ${entry.relativeOffset}, no multiple of ${alignment}`, {
      file,
      field,
      value: entry.relativeOffset,
      limit: alignment,
    });
  const offset = dataOffset + entry.relativeOffset;
  if (offset + entry.byteLength > fileSize)
    throw new TensorLayoutError(
      `${field} occupies bytes ${offset} to ${offset + entry.byteLength}, but the file has ${fileSize}`,
      { file, field, value: offset + entry.byteLength, limit: fileSize },
    );
  const { name, format, shape, byteLength } = entry;
  return { name, dtype: format.name, shape, file, offset, byteLength } satisfies TensorInfo;
}

async function parse(parser: PrefixParser): Promise<GgufHeader> {
  const { file, fileSize } = parser.cursor;
  const { version, tensorCount, fieldCount } = await parser.step(readPreamble);

  const fields = new Map<string, GgufField>();
  await parser.step((cursor) => {
    while (fields.size < fieldCount) {
      const key = readName(cursor, 'metadata key');
      if (fields.has(key))
        throw new DuplicateNameError(`metadata key ${key} occurs twice`, { file, field: key, value: key });
      fields.set(key, readField(cursor, key));
      cursor.commit();
    }
  });
  const alignment = readAlignment(file, fields);

  const entries = new Map<string, TensorEntry>();
  await parser.step((cursor) => {
    while (entries.size < tensorCount) {
      const entry = readTensorEntry(cursor);
      const field = `tensor ${entry.name}`;
      if (entries.has(entry.name))
        throw new DuplicateNameError(`${field} occurs twice`, { file, field, value: entry.name });
      entries.set(entry.name, entry);
      cursor.commit();
    }
  });
  const dataOffset = Math.ceil(parser.cursor.position / alignment) * alignment;
  const tensors = new Map<string, TensorInfo>();
  for (const entry of entries.values())
    tensors.set(entry.name, placeTensor(entry, file, dataOffset, alignment, fileSize));
  checkNoOverlap(tensors.values());
  return { version, fields, tensors, alignment, dataOffset, fileSize };
}

/**
 * Reads the header of a GGUF file (versions 2 and 3, little-endian). All counts, lengths and offsets are checked
 * against the file's size before anything is allocated for them. Format: ggml's docs/gguf.md.
 *
 * @throws ModelFileError (a subclass) if the file is not a valid GGUF file
 */
export async function readGgufHeader(file: string): Promise<GgufHeader> {
  const handle = await open(file, 'r');
  try {
    const { size } = await handle.stat();
    return await parse(new PrefixParser(handle, file, size));
  } finally {
    await handle.close();
  }
}
