import type { SequenceView } from '@dsi/scheduler';
import type { SampleRow } from '../sampling/sample-inputs.js';
import type { RowResult } from './model-runner.js';
import type { Choice } from './choice.js';
import type { RequestMetrics, WireLogprobs, WireRequest } from './protocol.js';

/** A live request: its choices and what was measured of it. Times are milliseconds of the core's clock. */
export class RequestState {
  /** Live and finished choices by index; those after the first appear when the prompt has been computed. */
  readonly choices: Choice[] = [];
  /** Views of every sequence that ever belonged to the request. */
  readonly views: SequenceView[] = [];
  firstScheduledAt: number | undefined;
  firstTokenAt: number | undefined;
  /** One entry a prompt token; filled as the rows are computed. */
  readonly promptLogprobs: (WireLogprobs | null)[] | undefined;
  #scoredUpTo = 0;

  constructor(
    readonly wire: WireRequest,
    readonly seed: bigint,
    readonly maxTokens: number,
  ) {
    if (wire.sampling.promptLogprobs >= 0) this.promptLogprobs = wire.promptIds.length > 0 ? [null] : [];
  }

  get id(): string {
    return this.wire.id;
  }

  /** The choices were drawn from the prompt's last logits. */
  get forked(): boolean {
    return this.firstTokenAt !== undefined;
  }

  get done(): boolean {
    return this.forked && this.choices.every((choice) => choice.finished);
  }

  /** Rows that score the prompt's tokens whose predecessors lie in [start, end); none twice. Does not mutate. */
  scoreRows(start: number, end: number): SampleRow[] {
    if (!this.promptLogprobs) return [];
    const { promptIds, sampling } = this.wire;
    const rows: SampleRow[] = [];
    for (let p = Math.max(start, this.#scoredUpTo); p < Math.min(end, promptIds.length - 1); p++) {
      rows.push({ position: p, draw: { kind: 'score', target: promptIds[p + 1]!, logprobs: sampling.promptLogprobs } });
    }
    return rows;
  }

  /** Takes the result of one of `scoreRows`. */
  scored(position: number, result: RowResult): void {
    this.promptLogprobs!.push(wireLogprobs(result, result.token, this.wire.sampling.promptLogprobs));
    this.#scoredUpTo = position + 1;
  }

  metrics(now: number, finishReason: RequestMetrics['finishReason']): RequestMetrics {
    const { wire, firstScheduledAt, firstTokenAt } = this;
    return {
      promptTokens: wire.promptIds.length,
      cachedTokens: this.cachedTokens,
      completionTokens: this.choices.reduce((n, choice) => n + choice.output.length, 0),
      numChoices: wire.sampling.n,
      maxTokens: this.maxTokens,
      numPreemptions: this.views.reduce((n, view) => n + view.numPreemptions, 0),
      finishReason,
      queueMs: since(firstScheduledAt, wire.arrival),
      prefillMs: since(firstTokenAt, firstScheduledAt),
      decodeMs: since(firstTokenAt === undefined ? undefined : now, firstTokenAt),
      timeToFirstTokenMs: since(firstTokenAt, wire.arrival),
      endToEndMs: Math.max(0, now - wire.arrival),
    };
  }

  get cachedTokens(): number {
    return Math.max(0, this.views[0]?.numCachedTokens ?? 0);
  }
}

/** The log-probabilities of a row as plain data: the token's own and the best `count`. */
export function wireLogprobs(result: RowResult, id: number, count: number): WireLogprobs {
  return {
    id,
    logprob: result.logprob,
    topIds: Array.from(result.topIds.subarray(0, count)),
    topLogprobs: Array.from(result.topLogprobs.subarray(0, count)),
  };
}

function since(at: number | undefined, from: number | undefined): number | undefined {
  return at === undefined || from === undefined ? undefined : Math.max(0, at - from);
}
