import { weightUses } from '@dsi/graph';
import type { BuiltModel } from './built-model.js';
import type { Backend, Executable, HostArray, KvStorage, WeightSet } from './contract.js';
import { BuildOptionError } from './errors.js';
import { stepInputs } from './step-inputs.js';
import type { Sequence, StepPart, StepResult } from './step.js';

export interface RunnerOptions {
  /** KV blocks of the pool. Default: enough for S sequences of the longest length. */
  readonly numBlocks?: number;
  /** Weights loaded before, for a second program of the same model; stays the caller's. */
  readonly weights?: WeightSet;
}

class OpenSequence implements Sequence {
  length = 0;
  readonly blocks: number[] = [];
}

/**
 * Runs sequences through a program step by step, with the least machinery: no scheduler, no prefix cache, whole logits copied out.
 * For evaluation and tests; a server wants @dsi/engine. Owns its executable and KV storage (and its weights, unless given): dispose() frees them.
 */
export class SequenceRunner {
  readonly #free: number[];
  readonly #open = new Set<OpenSequence>();

  private constructor(
    readonly model: BuiltModel,
    readonly weights: WeightSet,
    private readonly ownsWeights: boolean,
    private readonly kv: KvStorage,
    private readonly executable: Executable,
  ) {
    this.#free = Array.from({ length: kv.numBlocks }, (_, i) => kv.numBlocks - 1 - i);
  }

  /** Loads the weights, allocates the KV pool and binds the program. The program must have the output `logits`. */
  static async create(model: BuiltModel, backend: Backend, options: RunnerOptions = {}): Promise<SequenceRunner> {
    const { program } = model;
    if (!Object.hasOwn(program.outputs, 'logits')) throw new BuildOptionError('outputs', 'sample', "'logits'");
    const { blockSize } = model.graph;
    const perSequence = Math.ceil(model.maxSequenceLength / blockSize);
    const numBlocks = options.numBlocks ?? perSequence * program.maxDims.S;
    const weights =
      options.weights ??
      (await backend.loadWeights(model.weights, weightUses([program]), { numerics: program.numerics }));
    const kv = backend.createKv(model.kvSpecs, numBlocks, blockSize);
    return new SequenceRunner(model, weights, options.weights === undefined, kv, backend.compile(program, weights, kv));
  }

  /** A new, empty sequence. */
  open(): Sequence {
    const sequence = new OpenSequence();
    this.#open.add(sequence);
    return sequence;
  }

  /** Gives the sequence's blocks back; it cannot be used afterwards. */
  close(sequence: Sequence): void {
    const own = this.#own(sequence);
    this.#free.push(...own.blocks.splice(0));
    this.#open.delete(own);
  }

  /**
   * Runs the new tokens of several sequences in one launch and appends them to the cache. Results are in the order of the parts.
   *
   * @throws BuildOptionError when the step or a sequence is larger than the program or pool allows; nothing has changed then
   */
  async step(parts: readonly StepPart[], rows: 'last' | 'all' = 'last'): Promise<StepResult[]> {
    const { blockSize } = this.model.graph;
    const sequences = parts.map((p) => this.#own(p.sequence));
    const needed = parts.map((p, i) => this.#blocksNeeded(sequences[i] as OpenSequence, p.tokens.length));
    const total = needed.reduce((a, b) => a + b, 0);
    if (total > this.#free.length) {
      throw new BuildOptionError('numBlocks', this.kv.numBlocks, `${total - this.#free.length} more for this step`);
    }
    sequences.forEach((s, i) => s.blocks.push(...this.#free.splice(this.#free.length - (needed[i] as number))));
    const args = stepInputs(parts, { blockSize, program: this.model.program, rows });
    const outputs = await this.executable.launch(args);
    parts.forEach((p, i) => ((sequences[i] as OpenSequence).length += p.tokens.length));
    return this.#results(parts, outputs, rows);
  }

  /** Runs a prompt, `chunk` tokens a step (default: as many as the program takes). @returns logits after its last token, [V] */
  async prefill(
    sequence: Sequence,
    tokens: readonly number[],
    options: { readonly chunk?: number } = {},
  ): Promise<Float32Array> {
    const chunk = options.chunk ?? this.model.program.maxDims.T;
    if (tokens.length === 0 || !(chunk >= 1)) throw new BuildOptionError('tokens', tokens.length, 'at least one token');
    let last: StepResult | undefined;
    for (let at = 0; at < tokens.length; at += chunk) {
      [last] = await this.step([{ sequence, tokens: tokens.slice(at, at + chunk) }]);
    }
    return (last as StepResult).logits;
  }

  /** Runs one more token. @returns logits after it, [V] */
  async decode(sequence: Sequence, token: number): Promise<Float32Array> {
    const [result] = await this.step([{ sequence, tokens: [token] }]);
    return (result as StepResult).logits;
  }

  /** Continues from `logits` with the best token `count` times, ties to the lowest id. */
  async greedy(sequence: Sequence, logits: Float32Array, count: number): Promise<number[]> {
    const tokens: number[] = [];
    let current = logits;
    while (tokens.length < count) {
      const token = argmax(current);
      tokens.push(token);
      if (tokens.length < count) current = await this.decode(sequence, token);
    }
    return tokens;
  }

  dispose(): void {
    this.executable.dispose();
    this.kv.dispose();
    if (this.ownsWeights) this.weights.dispose();
  }

  #own(sequence: Sequence): OpenSequence {
    const own = sequence as OpenSequence;
    if (!this.#open.has(own)) throw new BuildOptionError('sequence', 'closed', 'a sequence that open() gave');
    return own;
  }

  #blocksNeeded(sequence: OpenSequence, tokens: number): number {
    const length = sequence.length + tokens;
    if (length > this.model.maxSequenceLength) {
      throw new BuildOptionError('tokens', length, `at most ${this.model.maxSequenceLength} tokens a sequence`);
    }
    return Math.ceil(length / this.model.graph.blockSize) - sequence.blocks.length;
  }

  #results(
    parts: readonly StepPart[],
    outputs: Readonly<Record<string, HostArray>>,
    rows: 'last' | 'all',
  ): StepResult[] {
    const logits = outputs.logits as Float32Array;
    const hidden = outputs.hidden as Float32Array | undefined;
    const tokens = parts.reduce((n, p) => n + p.tokens.length, 0);
    const width = (hidden?.length ?? 0) / tokens;
    const { vocabSize } = this.model;
    let row = 0;
    let token = 0;
    return parts.map((p) => {
      const count = rows === 'all' ? p.tokens.length : 1;
      const own = logits.slice(row * vocabSize, (row + count) * vocabSize);
      const states = hidden?.slice(token * width, (token + p.tokens.length) * width);
      row += count;
      token += p.tokens.length;
      return states === undefined ? { logits: own } : { logits: own, hidden: states };
    });
  }
}

/** Index of the largest value, the lowest of equal ones. */
export function argmax(values: Float32Array): number {
  let best = 0;
  for (let i = 1; i < values.length; i++) if ((values[i] as number) > (values[best] as number)) best = i;
  return best;
}
