import { TokenizerError } from '../errors.js';

/** Base of what can go wrong with a chat template. */
export class ChatTemplateError extends TokenizerError {
  override name = 'ChatTemplateError';
}

/** The template is not valid, or uses something that does not exist. */
export class ChatTemplateSyntaxError extends ChatTemplateError {
  override name = 'ChatTemplateSyntaxError';
}

/** The template called `raise_exception`: its author refuses this conversation. */
export class ChatTemplateRaisedError extends ChatTemplateError {
  override name = 'ChatTemplateRaisedError';
}

/** An operation of the template does not fit the values of this conversation. */
export class ChatTemplateValueError extends ChatTemplateError {
  override name = 'ChatTemplateValueError';
}

/** The template wants more than it may use. */
export class ChatTemplateLimitError extends ChatTemplateError {
  override name = 'ChatTemplateLimitError';
  /** The limit's name, as in `ChatTemplateLimits`. */
  readonly limit: string;
  readonly value: number;
  readonly maximum: number;

  constructor(limit: string, value: number, maximum: number) {
    super(`the chat template exceeds ${limit}: ${value} > ${maximum}`);
    this.limit = limit;
    this.value = value;
    this.maximum = maximum;
  }
}
