import { formatByName, rowBytes, type GgmlTypeName } from '@dsi/quantization';
import { writeAtomically } from '../atomic-file.js';
import { DuplicateNameError, LimitExceededError, MalformedFieldError } from '../errors.js';
import { writeTensorData, type TensorData } from '../tensor-data.js';
import { ByteBuilder, encodeField } from './encode-header.js';
import { gguf } from './fields.js';
import type { GgufField } from './value.js';

/** A tensor for `writeGguf`. */
export interface GgufTensor {
  readonly name: string;
  readonly type: GgmlTypeName;
  /** Row-major, outermost first, at most four dimensions. */
  readonly shape: readonly number[];
  readonly data: TensorData;
}

export interface WriteGgufOptions {
  readonly metadata: ReadonlyMap<string, GgufField>;
  readonly tensors: Iterable<GgufTensor>;
  /** Power of two; tensors begin at multiples of it. Default 32, written as general.alignment only if different. */
  readonly alignment?: number;
}

function tensorBytes(tensor: GgufTensor, file: string): number {
  const { name, shape } = tensor;
  const field = `tensor ${name}`;
  // ggml keeps names in 64 bytes, terminator included.
  if (name.length === 0 || Buffer.byteLength(name) > 63)
    throw new LimitExceededError(`${field}: a name takes 1 to 63 bytes`, {
      file,
      field,
      value: Buffer.byteLength(name),
      limit: 63,
    });
  if (shape.length > 4 || shape.some((n) => !Number.isSafeInteger(n) || n < 0))
    throw new MalformedFieldError(`${field} has shape [${shape.join(', ')}]`, {
      file,
      field,
      value: shape.join(' x '),
      limit: 'up to four sizes >= 0',
    });
  const row = rowBytes(formatByName(tensor.type), shape.at(-1) ?? 1);
  return shape.slice(0, -1).reduce((bytes, n) => bytes * n, row);
}

/**
 * Writes a GGUF version 3 file: metadata, then the tensors one after the other, asking each for its bytes only when
 * its turn comes. The file appears at `path` complete or not at all.
 *
 * @throws MalformedFieldError, DuplicateNameError, LimitExceededError for contents that GGUF cannot hold
 * @throws TensorLayoutError if a tensor's bytes do not fit its type and shape
 */
export async function writeGguf(path: string, options: WriteGgufOptions): Promise<void> {
  const alignment = options.alignment ?? 32;
  if (!Number.isInteger(alignment) || alignment < 1 || alignment > 2 ** 20 || (alignment & (alignment - 1)) !== 0)
    throw new MalformedFieldError(`alignment ${alignment}`, {
      file: path,
      field: 'alignment',
      value: alignment,
      limit: 'a power of two up to 2^20',
    });
  const metadata = new Map(options.metadata);
  if (alignment !== 32) metadata.set('general.alignment', gguf.uint32(alignment));
  const tensors = [...options.tensors];

  const header = new ByteBuilder();
  header.bytes(Buffer.from('GGUF'));
  header.u32(3);
  header.u64(tensors.length);
  header.u64(metadata.size);
  for (const [key, field] of metadata) encodeField(header, key, field, path);
  const names = new Set<string>();
  const sizes: number[] = [];
  let offset = 0;
  for (const tensor of tensors) {
    if (names.has(tensor.name))
      throw new DuplicateNameError(`tensor ${tensor.name} occurs twice`, {
        file: path,
        field: `tensor ${tensor.name}`,
        value: tensor.name,
      });
    names.add(tensor.name);
    const bytes = tensorBytes(tensor, path);
    sizes.push(bytes);
    header.string(tensor.name);
    header.u32(tensor.shape.length);
    for (const size of tensor.shape.toReversed()) header.u64(size);
    header.u32(formatByName(tensor.type).ggmlId);
    header.u64(offset);
    offset = Math.ceil((offset + bytes) / alignment) * alignment;
  }
  header.pad(alignment);

  await writeAtomically(path, async (sink) => {
    await sink.write(header.finish());
    for (const [i, tensor] of tensors.entries()) {
      await writeTensorData(sink, tensor, sizes[i]!, path);
      await sink.write(new Uint8Array((alignment - (sizes[i]! % alignment)) % alignment));
    }
  });
}
