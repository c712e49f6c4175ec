import { MergeTable } from '../bpe/merge-table.js';
import { TokenIndex } from '../bpe/token-index.js';
import { TokenizerFormatError } from '../errors.js';
import { atOnce, sliceEntries, type Slices } from '../slices.js';
import { array, type JsonObject, MAX_VOCAB_SIZE, object, optionalString, tokenId } from './access.js';
import { JsonScanner } from './scanner.js';

/** A description whose large parts may have been read already. */
export interface TokenizerJson {
  /** The description without what `vocab` and `merges` hold. */
  readonly root: JsonObject;
  readonly model: JsonObject;
  /** `model.vocab` where it is `{token: id}`. */
  readonly vocab: TokenIndex | undefined;
  /** Reads `model.merges`; undefined when there are none. */
  readonly merges: ((index: TokenIndex, prefixLength: number) => MergeTable) | undefined;
}

/** Reads tokenizer.json from text (without building its large objects) or from a parsed object. Text is read in slices. */
export function* readTokenizerJson(json: string | object): Slices<TokenizerJson> {
  return typeof json === 'string' ? yield* fromText(json) : fromObject(object(json, 'tokenizer.json'));
}

function fromObject(root: JsonObject): TokenizerJson {
  const model = object(root['model'], 'model');
  const vocab = model['vocab'];
  const isMap = typeof vocab === 'object' && vocab !== null && !Array.isArray(vocab);
  const list = model['merges'] === undefined ? undefined : array(model['merges'], 'model.merges');
  return {
    root,
    model,
    vocab: isMap ? indexOf(vocab as JsonObject) : undefined,
    merges: list === undefined ? undefined : (index, prefix) => mergesOf(list, index, prefix),
  };
}

function indexOf(vocab: JsonObject): TokenIndex {
  const index = new TokenIndex();
  for (const token in vocab) index.add(token, tokenId(vocab[token], `model.vocab[${JSON.stringify(token)}]`));
  return index;
}

function mergesOf(list: readonly unknown[], index: TokenIndex, prefix: number): MergeTable {
  const reader = new MergeReader(index, prefix, list.length);
  for (const entry of list) {
    if (typeof entry === 'string') reader.line(entry, 0, entry.length);
    else if (Array.isArray(entry) && entry.length === 2) reader.pair(entry[0], entry[1]);
    else reader.fail('expected two tokens');
  }
  return reader.table;
}

function* fromText(text: string): Slices<TokenizerJson> {
  const scanner = new JsonScanner(text);
  const root: Record<string, unknown> = {};
  const model: Record<string, unknown> = {};
  let vocab: TokenIndex | undefined;
  let mergesAt = -1;
  for (const key of scanner.keys()) {
    if (key !== 'model' || scanner.peek() !== 123) {
      root[key] = scanner.value();
      continue;
    }
    for (const name of scanner.keys()) {
      const first = scanner.peek();
      if (name === 'vocab' && first === 123) {
        vocab = yield* scanVocab(scanner);
      } else if (name === 'merges' && first === 91) {
        mergesAt = scanner.at;
        yield* skipItems(scanner);
      } else {
        model[name] = scanner.value();
      }
    }
    root[key] = model;
  }
  if (!Number.isNaN(scanner.peek())) scanner.fail('there is text after the end');
  if (mergesAt < 0) return { root, model: object(root['model'], 'model'), vocab, merges: undefined };
  let merges: TokenizerJson['merges'] = (index, prefix) => atOnce(scanMerges(text, mergesAt, index, prefix));
  if (vocab !== undefined) {
    const prefix = optionalString(model['continuing_subword_prefix'], 'model.continuing_subword_prefix') ?? '';
    const table = yield* scanMerges(text, mergesAt, vocab, prefix.length);
    merges = () => table;
  }
  return { root, model: object(root['model'], 'model'), vocab, merges };
}

function* skipItems(scanner: JsonScanner): Slices<void> {
  for (const index of scanner.items()) {
    scanner.skip();
    if (index % sliceEntries === 0) yield;
  }
}

function* scanVocab(scanner: JsonScanner): Slices<TokenIndex> {
  // A token and its merge take some 50 characters of a large file.
  const index = new TokenIndex(Math.min(MAX_VOCAB_SIZE, Math.floor(scanner.text.length / 50)));
  for (const token of scanner.keys()) {
    const id = scanner.unsignedInteger();
    if (id < 0 || id >= MAX_VOCAB_SIZE) {
      throw new TokenizerFormatError(`model.vocab[${JSON.stringify(token)}]`, `expected an id below ${MAX_VOCAB_SIZE}`);
    }
    index.add(token, id);
    if (index.size % sliceEntries === 0) yield;
  }
  return index;
}

function* scanMerges(text: string, at: number, index: TokenIndex, prefix: number): Slices<MergeTable> {
  const scanner = new JsonScanner(text);
  scanner.at = at;
  const reader = new MergeReader(index, prefix, index.size);
  for (const rank of scanner.items()) {
    if (rank % sliceEntries === 0) yield;
    const first = scanner.peek();
    if (first === 91) {
      const tokens: string[] = [];
      for (const _ of scanner.items()) tokens.push(scanner.string());
      if (tokens.length !== 2) reader.fail('expected two tokens');
      reader.pair(tokens[0], tokens[1]);
      continue;
    }
    if (first !== 34) reader.fail('expected two tokens');
    const start = scanner.at + 1;
    const end = text.indexOf('"', start);
    const escape = text.indexOf('\\', start);
    if (end >= 0 && (escape < 0 || escape > end)) {
      scanner.at = end + 1;
      reader.line(text, start, end);
    } else {
      const line = scanner.string();
      reader.line(line, 0, line.length);
    }
  }
  return reader.table;
}

/** Adds merges, in the order of their ranks. */
class MergeReader {
  readonly table: MergeTable;
  private rank = 0;

  constructor(
    private readonly index: TokenIndex,
    /** Length of the continuation prefix, which the second token loses in the merged one. */
    private readonly prefix: number,
    capacity: number,
  ) {
    this.table = new MergeTable(capacity);
  }

  fail(problem: string): never {
    throw new TokenizerFormatError(`model.merges[${this.rank}]`, problem);
  }

  /** `text[start, end)` is two tokens with a space between them. */
  line(text: string, start: number, end: number): void {
    const space = text.indexOf(' ', start);
    const second = space < 0 ? -1 : text.indexOf(' ', space + 1);
    if (space <= start || space >= end - 1 || (second >= 0 && second < end)) {
      this.fail(`expected two tokens, got ${JSON.stringify(text.slice(start, end))}`);
    }
    this.merge(text, start, space, text, space + 1, end);
  }

  pair(left: unknown, right: unknown): void {
    if (typeof left !== 'string' || typeof right !== 'string') this.fail('expected two tokens');
    this.merge(left, 0, left.length, right, 0, right.length);
  }

  private merge(left: string, from: number, to: number, right: string, start: number, end: number): void {
    const { index } = this;
    const middle = index.load(left, 0, from, to);
    const stop = index.load(right, middle, start, end);
    const a = index.findRange(0, middle);
    const b = index.findRange(middle, stop);
    let merged: number;
    if (this.prefix === 0) {
      merged = index.findRange(0, stop);
    } else {
      merged = index.findRange(0, index.load(right, middle, start + this.prefix, end));
    }
    if (a < 0 || b < 0 || merged < 0) {
      const l = left.slice(from, to);
      const r = right.slice(start, end);
      this.fail(`${JSON.stringify(a < 0 ? l : b < 0 ? r : l + r)} is not in the vocabulary`);
    }
    this.table.add(a, b, this.rank++, merged);
  }
}
