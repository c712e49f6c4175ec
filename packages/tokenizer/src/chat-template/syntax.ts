import { parse, tokenize } from '@huggingface/jinja';
import { ChatTemplateLimitError, ChatTemplateSyntaxError } from './errors.js';

/** A node of the parser's syntax tree; which fields there are depends on `type`. */
export interface Node {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** The parser's lexer looks at runs of blanks repeatedly, so they are bounded. */
const MAX_BLANK_RUN = 1000;

/**
 * Parses a chat template the way Transformers does (`trim_blocks`, `lstrip_blocks`).
 * @throws ChatTemplateSyntaxError, ChatTemplateLimitError
 */
export function parseTemplate(source: string, maxLength: number): readonly Node[] {
  if (source.length > maxLength) throw new ChatTemplateLimitError('maxTemplateLength', source.length, maxLength);
  checkBlankRuns(source);
  try {
    const program = parse(tokenize(source, { lstrip_blocks: true, trim_blocks: true }));
    return program.body as unknown as readonly Node[];
  } catch (error) {
    if (error instanceof RangeError) throw new ChatTemplateSyntaxError('the chat template is nested too deeply');
    // The parser runs past the end of an unfinished template with a TypeError.
    const problem = error instanceof TypeError ? 'it ends in the middle of a tag' : (error as Error).message;
    throw new ChatTemplateSyntaxError(`the chat template is not valid: ${problem}`);
  }
}

function checkBlankRuns(source: string): void {
  let run = 0;
  for (let i = 0; i < source.length; i++) {
    run = /\s/.test(source[i]!) ? run + 1 : 0;
    if (run > MAX_BLANK_RUN) {
      throw new ChatTemplateSyntaxError(`the chat template has more than ${MAX_BLANK_RUN} blanks in a row at ${i}`);
    }
  }
}
