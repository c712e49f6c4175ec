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

/**
 * How many tokens the next step may compute: what `targetMs` allow at the measured rate. A line `ms = base + perToken * tokens`
 * is fitted to the recent steps (least squares, older steps forgotten exponentially), so that a decode step, which pays mostly
 * for reading the weights, does not make prefill look slow. Between two steps the budget at most doubles.
 */
export class TokenBudget {
  #current: number;
  #n = 0;
  #x = 0;
  #y = 0;
  #xx = 0;
  #xy = 0;

  constructor(private readonly options: TokenBudgetOptions) {
    const { maxTokens, minTokens, targetMs } = options;
    this.#current = Number.isFinite(targetMs) ? Math.min(maxTokens, Math.max(minTokens, firstBudget)) : maxTokens;
  }

  get current(): number {
    return this.#current;
  }

  /** Takes the measure of a finished step. */
  observe(tokens: number, ms: number): void {
    const { maxTokens, minTokens, targetMs } = this.options;
    if (!Number.isFinite(targetMs) || tokens <= 0 || !(ms >= 0)) return;
    this.#n = memory * this.#n + 1;
    this.#x = memory * this.#x + tokens;
    this.#y = memory * this.#y + ms;
    this.#xx = memory * this.#xx + tokens * tokens;
    this.#xy = memory * this.#xy + tokens * ms;
    const { base, perToken } = this.#fit();
    const allowed = perToken > 0 ? Math.floor((targetMs - base) / perToken) : maxTokens;
    this.#current = Math.max(minTokens, Math.min(maxTokens, allowed, 2 * Math.max(this.#current, minTokens)));
  }

  #fit(): { base: number; perToken: number } {
    const spread = this.#n * this.#xx - this.#x * this.#x;
    const through = { base: 0, perToken: this.#y / this.#x };
    if (spread <= 1e-6 * this.#n * this.#xx) return through;
    const perToken = (this.#n * this.#xy - this.#x * this.#y) / spread;
    const base = (this.#y - perToken * this.#x) / this.#n;
    return perToken > 0 && base >= 0 ? { base, perToken } : through;
  }
}
