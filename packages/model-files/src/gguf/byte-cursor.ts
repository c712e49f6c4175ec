import { LimitExceededError, TruncatedFileError } from '../errors.js';

/** Thrown by a cursor that ran past the bytes read so far, although the file has more. Never leaves the parser. */
export class NeedMoreBytes extends Error {
  constructor(readonly end: number) {
    super(`needs the file up to byte ${end}`);
  }
}

/**
 * Little-endian reads from the first bytes of a file. Every read is checked against the file's size (an error) and
 * against the bytes at hand (`NeedMoreBytes`), so no length in the file is trusted before that many bytes exist.
 *
 *   0 ........ position ........ bytes.length ........ fileSize
 *   |  parsed  |   at hand       |  not read yet       |
 */
export class ByteCursor {
  position = 0;
  private committed = 0;
  private view: DataView;

  constructor(
    readonly file: string,
    readonly fileSize: number,
    private bytes: Buffer,
  ) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  /** Puts a longer prefix of the same file in place. */
  extend(bytes: Buffer): void {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  /** What was read up to here will not be read again. */
  commit(): void {
    this.committed = this.position;
  }

  /** Goes back to the last commit. */
  rewind(): void {
    this.position = this.committed;
  }

  /** Bytes between the position and the end of the file. */
  get remaining(): number {
    return this.fileSize - this.position;
  }

  /** Reserves the next `count` bytes and returns where they begin. */
  take(count: number, field: string): number {
    const start = this.position;
    if (count > this.fileSize - start)
      throw new TruncatedFileError(
        `${field} needs ${count} bytes at offset ${start}, but the file has ${this.fileSize}`,
        { file: this.file, field, value: start + count, limit: this.fileSize },
      );
    if (start + count > this.bytes.length) throw new NeedMoreBytes(start + count);
    this.position = start + count;
    return start;
  }

  u32(field: string): number {
    return this.view.getUint32(this.take(4, field), true);
  }

  /** An unsigned 64-bit length or count; refused if it exceeds `limit`. */
  count(field: string, limit: number): number {
    const value = this.view.getBigUint64(this.take(8, field), true);
    if (value > BigInt(limit))
      throw new LimitExceededError(`${field} is ${value}, at most ${limit} is possible here`, {
        file: this.file,
        field,
        value,
        limit,
      });
    return Number(value);
  }

  /** A length-prefixed UTF-8 string. Bytes that are no UTF-8 read as U+FFFD. */
  string(field: string, limit: number): string {
    const length = this.count(`length of ${field}`, Math.min(limit, Math.max(0, this.remaining - 8)));
    const start = this.take(length, field);
    return this.bytes.toString('utf8', start, start + length);
  }

  /** `count` length-prefixed strings; the loop of the parser that vocabularies of 150,000 entries go through. */
  strings(count: number, field: string): string[] {
    const out: string[] = [];
    const { bytes, view } = this;
    let p = this.position;
    for (let i = 0; i < count; i++) {
      if (p + 8 > bytes.length) this.fail(p, 8, `${field}[${i}]`);
      const low = view.getUint32(p, true);
      const high = view.getUint32(p + 4, true);
      const length = high * 2 ** 32 + low;
      if (p + 8 + length > bytes.length) this.fail(p + 8, length, `${field}[${i}]`);
      out.push(bytes.toString('utf8', p + 8, p + 8 + length));
      p += 8 + length;
    }
    this.position = p;
    return out;
  }

  private fail(position: number, count: number, field: string): never {
    this.position = position;
    this.take(count, field);
    throw new NeedMoreBytes(position + count);
  }

  /** Copy of the next `count` bytes. */
  copy(count: number, field: string): Uint8Array<ArrayBuffer> {
    const start = this.take(count, field);
    const out = new Uint8Array(count);
    out.set(this.bytes.subarray(start, start + count));
    return out;
  }

  dataView(count: number, field: string): DataView {
    const start = this.take(count, field);
    return new DataView(this.bytes.buffer, this.bytes.byteOffset + start, count);
  }
}
