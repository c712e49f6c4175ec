import { ChatTemplateLimitError } from './errors.js';
import { concat, type Text, TextBuilder, plain } from './marked-text.js';
import { type Arguments, Undefined, type Value } from './values.js';

/** Looks up a filter by name; throws for unknown ones. */
export type FilterLookup = (name: string) => (value: Value, args: Arguments, run: Run) => Value;

/** What one rendering may use. */
export interface ChatTemplateLimits {
  /** UTF-16 units of template text. Default 524,288. */
  readonly maxTemplateLength: number;
  /** UTF-16 units of rendered text, and of any text on the way. Default 16,777,216. */
  readonly maxOutputLength: number;
  /** Evaluated nodes plus 1 for every 64 units of text that operations make. Default 2,000,000. */
  readonly maxSteps: number;
  /** Nested macro calls. Default 100. */
  readonly maxDepth: number;
}

export const DEFAULT_LIMITS: ChatTemplateLimits = {
  maxTemplateLength: 1 << 19,
  maxOutputLength: 1 << 24,
  maxSteps: 2_000_000,
  maxDepth: 100,
};

/** State of one rendering: what it used so far. */
export class Run {
  private steps = 0;
  private depth = 0;

  constructor(
    readonly limits: ChatTemplateLimits,
    readonly now: () => Date,
    /** For filters that apply other filters (`map`). */
    readonly filter: FilterLookup,
  ) {}

  /** Counts one evaluated node, or several. */
  step(count = 1): void {
    this.steps += count;
    if (this.steps > this.limits.maxSteps) {
      throw new ChatTemplateLimitError('maxSteps', this.steps, this.limits.maxSteps);
    }
  }

  /** Accounts for `length` units of text that are about to be made. */
  reserveText(length: number): void {
    if (length > this.limits.maxOutputLength) {
      throw new ChatTemplateLimitError('maxOutputLength', length, this.limits.maxOutputLength);
    }
    this.step(Math.floor(length / 64));
  }

  concat(left: Text, right: Text): Text {
    this.reserveText(plain(left).length + plain(right).length);
    return concat(left, right);
  }

  /** Runs a macro's body, one level deeper. */
  nested<T>(body: () => T): T {
    if (++this.depth > this.limits.maxDepth) {
      throw new ChatTemplateLimitError('maxDepth', this.depth, this.limits.maxDepth);
    }
    try {
      return body();
    } finally {
      this.depth--;
    }
  }
}

/** Where statements write to. */
export class Output {
  private readonly builder = new TextBuilder();

  constructor(private readonly run: Run) {}

  write(text: Text): void {
    const length = plain(text).length;
    const limit = this.run.limits.maxOutputLength;
    if (this.builder.length + length > limit) {
      throw new ChatTemplateLimitError('maxOutputLength', this.builder.length + length, limit);
    }
    this.run.step(length >> 6);
    this.builder.add(text);
  }

  text(): Text {
    return this.builder.build();
  }
}

/** Variables: reading looks outwards, setting does not. */
export class Scope {
  private readonly variables = new Map<string, Value>();

  constructor(private readonly parent: Scope | undefined) {}

  get(name: string): Value {
    const own = this.variables.get(name);
    if (own !== undefined) return own;
    for (let scope = this.parent; scope !== undefined; scope = scope.parent) {
      const value = scope.variables.get(name);
      if (value !== undefined) return value;
    }
    return new Undefined(name);
  }

  set(name: string, value: Value): void {
    this.variables.set(name, value);
  }

  /** Makes a name undefined here, whatever outer scopes hold. */
  hide(name: string): void {
    this.variables.set(name, new Undefined(name));
  }
}

/** A compiled expression. */
export type Expression = (scope: Scope, run: Run) => Value;

/** How a statement ended. */
export type Flow = 'next' | 'break' | 'continue';

/** A compiled statement. */
export type Statement = (scope: Scope, run: Run, out: Output) => Flow;
