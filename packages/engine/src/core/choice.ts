import { StopFilter } from '@dsi/tokenizer';
import type { PenaltyCounter } from '../sampling/penalty-counter.js';
import type { Draw } from '../sampling/sample-inputs.js';
import type { ResolvedSampling } from '../sampling/sampling-params.js';
import type { TokenText } from '../text/token-text.js';
import type { FinishReason } from './protocol.js';

export interface ChoiceOptions {
  /** The scheduler's name of the sequence. */
  readonly sequenceId: string;
  /** Index among n. */
  readonly index: number;
  readonly sampling: ResolvedSampling;
  readonly seed: { readonly low: number; readonly high: number };
  readonly maxTokens: number;
  readonly eosTokenIds: ReadonlySet<number>;
  readonly penalties: PenaltyCounter | undefined;
  readonly text: TokenText;
}

/** What one more token did to a choice. */
export interface Accepted {
  /** Text that became final. */
  readonly text: string;
  readonly finishReason?: FinishReason;
  readonly stopReason?: string | number;
}

/**
 * One sequence that is being generated: its output so far, and the rules that end it. The end is a function of the tokens
 * alone, so it does not depend on how steps were cut.
 */
export class Choice {
  readonly sequenceId: string;
  readonly index: number;
  readonly output: number[] = [];
  finished = false;
  /** When the last token came, in milliseconds of the core's clock. */
  lastTokenAt: number | undefined;
  readonly #options: ChoiceOptions;
  readonly #stops: StopFilter;
  readonly #stopIds: ReadonlySet<number>;

  constructor(options: ChoiceOptions) {
    this.sequenceId = options.sequenceId;
    this.index = options.index;
    this.#options = options;
    const { stop, includeStopStrInOutput: includeStop } = options.sampling;
    this.#stops = new StopFilter({ stop, includeStop });
    this.#stopIds = new Set(options.sampling.stopTokenIds);
  }

  /** The draw of the next token. */
  draw(): Draw {
    const { sampling, seed, penalties } = this.#options;
    const { ids, values } = this.#biases();
    return {
      kind: 'draw',
      sampling,
      seedLow: seed.low,
      seedHigh: seed.high,
      choice: this.index,
      index: this.output.length,
      penalties,
      biasIds: ids,
      biasValues: values,
    };
  }

  /** Takes the drawn token. Mutates; call once per token, in order. */
  accept(token: number): Accepted {
    const { sampling, text, penalties, eosTokenIds, maxTokens } = this.#options;
    this.output.push(token);
    penalties?.add(token);
    const beyondMin = this.output.length > sampling.minTokens;
    const isEos = !sampling.ignoreEos && eosTokenIds.has(token);
    const isStop = beyondMin && (isEos || this.#stopIds.has(token));
    const piece = isStop && !sampling.includeStopStrInOutput ? '' : text.push(token);
    const ready = beyondMin ? this.#stops.push(piece) : this.#stops.pass(piece);
    const { matched } = this.#stops;
    if (matched !== undefined) {
      this.finished = true;
      return { text: ready, finishReason: 'stop', stopReason: matched };
    }
    if (isStop) return this.#end(ready, 'stop', isEos ? undefined : token);
    if (this.output.length >= maxTokens) return this.#end(ready, 'length', undefined);
    return { text: ready };
  }

  /** Ends from outside. @returns text that was still held back */
  abort(): string {
    return this.#end('', 'abort', undefined).text;
  }

  #end(before: string, finishReason: FinishReason, stopReason: number | undefined): Accepted {
    this.finished = true;
    const text = before + this.#stops.push(this.#options.text.finish());
    const { matched } = this.#stops;
    if (matched !== undefined) return { text, finishReason: 'stop', stopReason: matched };
    return {
      text: text + this.#stops.flush(),
      finishReason,
      ...(stopReason === undefined ? {} : { stopReason }),
    };
  }

  #biases(): { ids: readonly number[]; values: readonly number[] } {
    const { sampling, eosTokenIds } = this.#options;
    if (this.output.length >= sampling.minTokens && sampling.badWordIds.length === 0) {
      return { ids: sampling.biasIds, values: sampling.biasValues };
    }
    const banned = new Set<number>();
    if (this.output.length < sampling.minTokens) {
      for (const id of this.#stopIds) banned.add(id);
      if (!sampling.ignoreEos) for (const id of eosTokenIds) banned.add(id);
    }
    for (const word of sampling.badWordIds) {
      if (endsWith(this.output, word, word.length - 1)) banned.add(word[word.length - 1]!);
    }
    if (banned.size === 0) return { ids: sampling.biasIds, values: sampling.biasValues };
    const ids: number[] = [];
    const values: number[] = [];
    sampling.biasIds.forEach((id, i) => {
      if (banned.has(id)) return;
      ids.push(id);
      values.push(sampling.biasValues[i]!);
    });
    for (const id of banned) {
      ids.push(id);
      values.push(-Infinity);
    }
    return { ids, values };
  }
}

/** Whether the first `length` entries of `word` are the last ones of `output`. */
function endsWith(output: readonly number[], word: readonly number[], length: number): boolean {
  if (output.length < length) return false;
  for (let i = 0; i < length; i++) if (output[output.length - length + i] !== word[i]) return false;
  return true;
}
