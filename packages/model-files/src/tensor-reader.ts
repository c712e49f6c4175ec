import { open, type FileHandle } from 'node:fs/promises';
import { LimitExceededError, TensorNotFoundError, TruncatedFileError } from './errors.js';
import type { TensorInfo } from './model-files.js';

/** Node's fs takes at most 2^31 - 1 bytes in one call. */
const maxReadBytes = 2 ** 30;

/** Ranged reads of tensors, with one handle for each file, opened on first use. */
export class TensorReader {
  private readonly handles = new Map<string, Promise<FileHandle>>();

  constructor(
    private readonly path: string,
    private readonly tensors: ReadonlyMap<string, TensorInfo>,
  ) {}

  async read(name: string): Promise<Uint8Array> {
    return this.readRange(name, 0, this.find(name).byteLength);
  }

  async readRange(name: string, begin: number, end: number): Promise<Uint8Array> {
    const tensor = this.find(name);
    const field = `tensor ${name}`;
    if (!Number.isSafeInteger(begin) || !Number.isSafeInteger(end) || begin < 0 || begin > end)
      throw new LimitExceededError(`${field}: bytes ${begin} to ${end} are no range`, {
        file: tensor.file,
        field,
        value: begin,
      });
    if (end > tensor.byteLength)
      throw new LimitExceededError(`${field} has ${tensor.byteLength} bytes, ${end} were asked for`, {
        file: tensor.file,
        field,
        value: end,
        limit: tensor.byteLength,
      });
    const out = new Uint8Array(end - begin);
    const handle = await this.handle(tensor.file);
    for (let filled = 0; filled < out.length;) {
      const length = Math.min(maxReadBytes, out.length - filled);
      const position = tensor.offset + begin + filled;
      const { bytesRead } = await handle.read(out, filled, length, position);
      if (bytesRead === 0)
        throw new TruncatedFileError(`the file ends at byte ${position}, inside ${field}`, {
          file: tensor.file,
          field,
          value: position,
          limit: tensor.offset + tensor.byteLength,
        });
      filled += bytesRead;
    }
    return out;
  }

  async close(): Promise<void> {
    const handles = [...this.handles.values()];
    this.handles.clear();
    await Promise.all(handles.map(async (handle) => (await handle).close()));
  }

  private find(name: string): TensorInfo {
    const tensor = this.tensors.get(name);
    if (tensor === undefined)
      throw new TensorNotFoundError(`no tensor ${name} among ${this.tensors.size}`, {
        file: this.path,
        field: `tensor ${name}`,
        value: name,
      });
    return tensor;
  }

  private handle(file: string): Promise<FileHandle> {
    let handle = this.handles.get(file);
    if (handle === undefined) {
      handle = open(file, 'r');
      // A failed open is tried again by the next read.
      handle.catch(() => this.handles.delete(file));
      this.handles.set(file, handle);
    }
    return handle;
  }
}
