import { ChatTemplateValueError } from './errors.js';
import { isText, plain, type Text } from './marked-text.js';
import { type Arguments, isTruthy, orElse, typeName, type Value } from './values.js';

/** Reads the arguments of one call by position or name. */
export class ArgumentReader {
  constructor(
    private readonly callee: string,
    private readonly args: Arguments,
  ) {}

  get(index: number, name: string): Value | undefined {
    return orElse(this.args.positional[index], this.args.named.get(name));
  }

  text(index: number, name: string): Text | undefined {
    const value = this.get(index, name);
    if (value === undefined || value === null) return undefined;
    if (isText(value)) return value;
    throw this.wrong(name, 'a string', value);
  }

  requiredText(index: number, name: string): Text {
    const value = this.text(index, name);
    if (value === undefined) throw new ChatTemplateValueError(`${this.callee}() needs the argument ${name}`);
    return value;
  }

  string(index: number, name: string): string | undefined {
    const value = this.text(index, name);
    return value === undefined ? undefined : plain(value);
  }

  integer(index: number, name: string, fallback: number): number {
    const value = this.get(index, name);
    if (value === undefined || value === null) return fallback;
    if (typeof value === 'number') return value;
    if (typeof value === 'boolean') return value ? 1 : 0;
    throw this.wrong(name, 'an integer', value);
  }

  flag(index: number, name: string, fallback: boolean): boolean {
    const value = this.get(index, name);
    return value === undefined ? fallback : isTruthy(value);
  }

  /** The positional arguments from `index` on, with all named ones. */
  after(index: number): Arguments {
    return { positional: this.args.positional.slice(index), named: this.args.named };
  }

  private wrong(name: string, expected: string, value: Value): ChatTemplateValueError {
    return new ChatTemplateValueError(`${this.callee}(): ${name} must be ${expected}, not ${typeName(value)}`);
  }
}
