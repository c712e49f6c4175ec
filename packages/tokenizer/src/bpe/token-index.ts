import { hashPiece, PieceTable } from './piece-table.js';

/** Token strings with their ids: built while a vocabulary is read, asked while its merges are. */
export class TokenIndex {
  /** Token string of each id; holes are undefined. */
  readonly tokens: (string | undefined)[] = [];
  private readonly table: PieceTable;
  private scratch = new Uint16Array(512);

  /** @param capacity the expected number of tokens */
  constructor(capacity = 0) {
    this.table = new PieceTable(capacity);
  }

  add(token: string, id: number): void {
    while (this.tokens.length <= id) this.tokens.push(undefined);
    this.tokens[id] = token;
    const length = this.load(token, 0);
    this.table.add(this.scratch, 0, length, id);
  }

  get size(): number {
    return this.table.size;
  }

  /** The id of a token string, or undefined. */
  idOf(token: string): number | undefined {
    const length = this.load(token, 0);
    const id = this.findRange(0, length);
    return id < 0 ? undefined : id;
  }

  /** Writes `text[from, to)` to the scratch at `at`, for {@link findRange}; returns the end. */
  load(text: string, at: number, from = 0, to = text.length): number {
    const end = at + to - from;
    if (end > this.scratch.length) {
      const scratch = new Uint16Array(end * 2);
      scratch.set(this.scratch);
      this.scratch = scratch;
    }
    for (let i = from; i < to; i++) this.scratch[at++] = text.charCodeAt(i);
    return end;
  }

  /** The id of the token that the scratch spells in [start, end), or -1. */
  findRange(start: number, end: number): number {
    return this.table.find(hashPiece(this.scratch, start, end), this.scratch, start, end);
  }
}
