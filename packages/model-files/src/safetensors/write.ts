import { writeAtomically } from '../atomic-file.js';
import { DuplicateNameError, MalformedFieldError, UnknownTypeError } from '../errors.js';
import { writeTensorData, type TensorData } from '../tensor-data.js';
import { safetensorsBits } from './dtype.js';

/** A tensor for `writeSafetensors`. */
export interface SafetensorsTensor {
  readonly name: string;
  /** F32, F16, BF16, F8_E4M3, I64, ... */
  readonly dtype: string;
  /** Row-major, outermost first. */
  readonly shape: readonly number[];
  readonly data: TensorData;
}

export interface WriteSafetensorsOptions {
  readonly tensors: Iterable<SafetensorsTensor>;
  /** Free-form strings for `__metadata__`. */
  readonly metadata?: Readonly<Record<string, string>>;
}

/** Bytes of a tensor by dtype and shape. */
export function safetensorsByteLength(tensor: Omit<SafetensorsTensor, 'data'>, file: string): number {
  const bits = safetensorsBits.get(tensor.dtype);
  const field = `tensor ${tensor.name}`;
  if (bits === undefined)
    throw new UnknownTypeError(
      `${field} has dtype ${tensor.dtype}; known are ${[...safetensorsBits.keys()].join(', ')}`,
      {
        file,
        field,
        value: tensor.dtype,
      },
    );
  const bytes = (tensor.shape.reduce((a, b) => a * b, 1) * bits) / 8;
  if (!Number.isSafeInteger(bytes) || tensor.shape.some((n) => n < 0))
    throw new MalformedFieldError(`${field} has shape [${tensor.shape.join(', ')}]`, {
      file,
      field,
      value: tensor.shape.join(' x '),
      limit: 'sizes >= 0, whole bytes, less than 2^53',
    });
  return bytes;
}

/**
 * Writes a safetensors file, asking each tensor for its bytes only when its turn comes. The file appears at `path`
 * complete or not at all.
 *
 * @throws UnknownTypeError, MalformedFieldError, DuplicateNameError
 * @throws TensorLayoutError if a tensor's bytes do not fit its dtype and shape
 */
export async function writeSafetensors(path: string, options: WriteSafetensorsOptions): Promise<void> {
  const tensors = [...options.tensors];
  const header = new Map<string, unknown>();
  if (options.metadata !== undefined) header.set('__metadata__', options.metadata);
  const sizes: number[] = [];
  let offset = 0;
  for (const { name, dtype, shape } of tensors) {
    if (header.has(name) || name === '__metadata__')
      throw new DuplicateNameError(`tensor ${name} occurs twice, or has the name of the metadata`, {
        file: path,
        field: `tensor ${name}`,
        value: name,
      });
    const bytes = safetensorsByteLength({ name, dtype, shape }, path);
    sizes.push(bytes);
    header.set(name, { dtype, shape, data_offsets: [offset, offset + bytes] });
    offset += bytes;
  }
  // Spaces at the end bring the tensors to a multiple of eight bytes.
  const json = Buffer.from(JSON.stringify(Object.fromEntries(header)));
  const padded = Buffer.alloc(Math.ceil(json.length / 8) * 8, ' ');
  json.copy(padded);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(padded.length));
  await writeAtomically(path, async (sink) => {
    await sink.write(length);
    await sink.write(padded);
    for (const [i, tensor] of tensors.entries()) await writeTensorData(sink, tensor, sizes[i]!, path);
  });
}
