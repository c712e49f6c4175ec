import { compileBlock } from './compile-statement.js';
import { ChatTemplateError, ChatTemplateSyntaxError, ChatTemplateValueError } from './errors.js';
import { filter } from './filters.js';
import { globalScope } from './globals.js';
import type { Text } from './marked-text.js';
import { type ChatTemplateLimits, Output, Run, type Statement, Scope } from './run.js';
import { parseTemplate } from './syntax.js';
import type { Value } from './values.js';

/** One compiled template. */
export class TemplateProgram {
  private readonly body: Statement;

  /** @throws ChatTemplateSyntaxError, ChatTemplateLimitError */
  constructor(
    readonly source: string,
    private readonly limits: ChatTemplateLimits,
    private readonly now: () => Date,
  ) {
    const nodes = parseTemplate(source, limits.maxTemplateLength);
    try {
      this.body = compileBlock(nodes);
    } catch (error) {
      if (error instanceof RangeError) throw new ChatTemplateSyntaxError('the chat template is nested too deeply');
      throw error;
    }
  }

  /** Renders with these variables. @throws ChatTemplateError and its kinds */
  run(variables: ReadonlyMap<string, Value>): Text {
    const run = new Run(this.limits, this.now, filter);
    const scope = new Scope(globalScope(run));
    for (const [name, value] of variables) scope.set(name, value);
    const out = new Output(run);
    try {
      this.body(scope, run, out);
    } catch (error) {
      if (error instanceof ChatTemplateError) throw error;
      if (error instanceof RangeError) throw new ChatTemplateValueError('the chat template recurses too deeply');
      throw error;
    }
    return out.text();
  }
}
