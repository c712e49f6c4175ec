import { ChatTemplate, ChatTemplateError, type ChatMessage, type ContinuedField, type Tokenizer } from '@dsi/tokenizer';
import { ChatTemplateMissingError } from '../errors/request-errors.js';

export interface ChatOptions {
  /** Tools as JSON schemas, in the form that the API receives them. */
  readonly tools?: readonly unknown[];
  /** Further variables of the template: `enable_thinking`, `thinking`, ... */
  readonly templateKwargs?: Readonly<Record<string, unknown>>;
  /** End with the beginning of an assistant message. Default true, false when the final message is continued. */
  readonly addGenerationPrompt?: boolean;
  /** End inside the last message, so that generation goes on with it. `true`: its `content`. */
  readonly continueFinalMessage?: boolean | ContinuedField;
}

/** A chat as a prompt. */
export interface RenderedChat {
  readonly text: string;
  /** Control tokens only where the template's own text spells them; exactly one BOS where the tokenizer wants one. */
  readonly ids: Int32Array;
}

/** The chat template of a model, compiled once. A template that does not compile is an error at the first use, not at load. */
export class ChatRenderer {
  readonly #tokenizer: Tokenizer;
  readonly #template: ChatTemplate | ChatTemplateError | undefined;

  /** @param source the template beside the model's files; default: the tokenizer's own */
  constructor(tokenizer: Tokenizer, source: string | undefined) {
    this.#tokenizer = tokenizer;
    const own = tokenizer.chatTemplate;
    // Several named templates are known to the tokenizer only.
    const chosen = typeof own === 'object' ? own : (source ?? own);
    try {
      const { specialTokens } = tokenizer;
      this.#template = chosen === undefined ? undefined : new ChatTemplate(chosen, { specialTokens });
    } catch (error) {
      if (!(error instanceof ChatTemplateError)) throw error;
      this.#template = error;
    }
  }

  /** Whether the model has a template. */
  get available(): boolean {
    return this.#template !== undefined;
  }

  /** @throws ChatTemplateMissingError; ChatTemplateError when the template is not valid or refuses the conversation */
  render(messages: readonly ChatMessage[], options: ChatOptions): RenderedChat {
    if (this.#template === undefined) throw new ChatTemplateMissingError();
    if (this.#template instanceof ChatTemplateError) throw this.#template;
    const { tools, templateKwargs, addGenerationPrompt, continueFinalMessage } = options;
    const render = {
      tools,
      variables: templateKwargs,
      addGenerationPrompt,
      // A last message with `prefix: true` is continued by itself.
      continueFinalMessage: continueFinalMessage === false ? undefined : continueFinalMessage,
    };
    return {
      text: this.#template.render(messages, render),
      ids: Int32Array.from(this.#template.renderToIds(this.#tokenizer, messages, render)),
    };
  }
}
