/** How many tokens the next step may compute, told of every step that was. */
export interface StepBudget {
  readonly current: number;
  /** Takes the measure of a finished step. */
  observe(tokens: number, ms: number): void;
}

export interface TokenBudgetOptions {
  /** The flag: never more than this. */
  readonly maxTokens: number;
  /** Never less: every running sequence must get its token. */
  readonly minTokens: number;
  /** Milliseconds a step may take, so that an abort acts soon. Infinity turns the adaptation off. */
  readonly targetMs: number;
}

/** Share of the past that every new step keeps. */
const memory = 0.9;
const firstBudget = 128;
/** Two steps in a row whose sizes differ by less say nothing about what one more token costs. */
const leastDifference = 8;

/**
 * What `targetMs` allow at the measured rate, by the model `ms = base + perToken * tokens`: a decode step pays mostly for reading
 * the weights, so its time per token says nothing about prefill. `perToken` is fitted to the differences between steps in a row
 * (least squares), which a slowly growing base, as of longer contexts, does not disturb; it stays as it was while only steps of
 * about one size run. The base follows every step. Older steps are forgotten exponentially, and between two steps the budget at
 * most doubles.
 */
export class TokenBudget implements StepBudget {
  #current: number;
  #last: { readonly tokens: number; readonly ms: number } | undefined;
  /** Sums over the steps: weight, tokens, milliseconds. */
  #n = 0;
  #x = 0;
  #y = 0;
  /** Sums over pairs of steps: squared difference of tokens, and its product with the difference of milliseconds. */
  #dxdx = 0;
  #dxdy = 0;

  constructor(private readonly options: TokenBudgetOptions) {
    const { maxTokens, minTokens, targetMs } = options;
    this.#current = Number.isFinite(targetMs) ? Math.min(maxTokens, Math.max(minTokens, firstBudget)) : maxTokens;
  }

  get current(): number {
    return this.#current;
  }

  observe(tokens: number, ms: number): void {
    const { maxTokens, minTokens, targetMs } = this.options;
    if (!Number.isFinite(targetMs) || tokens <= 0 || !(ms >= 0)) return;
    this.#n = memory * this.#n + 1;
    this.#x = memory * this.#x + tokens;
    this.#y = memory * this.#y + ms;
    const dx = tokens - (this.#last?.tokens ?? tokens);
    if (Math.abs(dx) >= leastDifference) {
      this.#dxdx = memory * this.#dxdx + dx * dx;
      this.#dxdy = memory * this.#dxdy + dx * (ms - this.#last!.ms);
    }
    this.#last = { tokens, ms };
    // No token can cost more than its share of the whole step.
    const share = this.#y / this.#x;
    const perToken = this.#dxdy > 0 ? Math.min(share, this.#dxdy / this.#dxdx) : share;
    const base = (this.#y - perToken * this.#x) / this.#n;
    const allowed = perToken > 0 ? Math.floor((targetMs - base) / perToken) : maxTokens;
    this.#current = Math.max(minTokens, Math.min(maxTokens, allowed, 2 * Math.max(this.#current, minTokens)));
  }
}
