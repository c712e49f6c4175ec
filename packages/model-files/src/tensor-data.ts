import { TensorLayoutError } from './errors.js';
import type { FileSink } from './atomic-file.js';

/**
 * Bytes of a tensor to be written: at hand, or produced when its turn comes, whole or in pieces, so that a writer
 * holds one piece at a time.
 */
export type TensorData = Uint8Array | (() => Promise<Uint8Array> | AsyncIterable<Uint8Array>);

/** Writes a tensor's bytes and checks that there are exactly `byteLength`. */
export async function writeTensorData(
  sink: FileSink,
  tensor: { readonly name: string; readonly data: TensorData },
  byteLength: number,
  file: string,
): Promise<void> {
  const start = sink.position;
  const produced = typeof tensor.data === 'function' ? tensor.data() : tensor.data;
  if (produced instanceof Uint8Array) await sink.write(produced);
  else if (Symbol.asyncIterator in produced) for await (const piece of produced) await sink.write(piece);
  else await sink.write(await produced);
  const written = sink.position - start;
  if (written !== byteLength)
    throw new TensorLayoutError(`tensor ${tensor.name} has ${written} bytes, its type and shape need ${byteLength}`, {
      file,
      field: `tensor ${tensor.name}`,
      value: written,
      limit: byteLength,
    });
}
