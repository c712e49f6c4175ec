import type { SpecialTokens } from '../special-tokens.js';
import type { TextRange, Tokenizer } from '../tokenizer.js';
import type { ChatTemplateSource } from '../tokenizer-parts.js';
import { type ContinuedField, cutAtTag, tagFinalMessage } from './continuation.js';
import { ChatTemplateError } from './errors.js';
import { type Text, plain } from './marked-text.js';
import { adaptToolCalls, type ChatMessage, detectToolCallNeeds, type ToolCallNeeds } from './messages.js';
import { TemplateProgram } from './program.js';
import { type ChatTemplateLimits, DEFAULT_LIMITS } from './run.js';
import { fromJson, type Value } from './values.js';

export interface ChatTemplateOptions {
  /** Become `bos_token`, `eos_token`, … in the template. */
  readonly specialTokens?: SpecialTokens;
  readonly limits?: Partial<ChatTemplateLimits>;
  /** Clock of `strftime_now`. Default: the system's. */
  readonly now?: () => Date;
}

export interface RenderOptions {
  /** Tools as JSON schemas, in the form that the API receives them. */
  readonly tools?: readonly unknown[] | undefined;
  /** Documents for retrieval-augmented templates. */
  readonly documents?: readonly unknown[] | undefined;
  /** End with the beginning of an assistant message. Default true, false when the final message is continued. */
  readonly addGenerationPrompt?: boolean | undefined;
  /**
   * End inside the last message, so that generation goes on with it. `true` means its `content`. A last assistant
   * message with `prefix: true` asks for the same.
   */
  readonly continueFinalMessage?: boolean | ContinuedField | undefined;
  /**
   * `auto` (default): tool calls are brought into the form that the template needs (arguments as text or dictionary,
   * content null or empty). `as-given`: messages are passed as they are.
   */
  readonly toolCalls?: 'auto' | 'as-given' | undefined;
  /** Which of several named templates; default: `tool_use` when tools are given and there is one, else `default`. */
  readonly template?: string | undefined;
  /** Further variables (`enable_thinking`, `date_string`, …). */
  readonly variables?: Readonly<Record<string, unknown>> | undefined;
}

/** Rendered text, and which parts of it come from the conversation. */
export interface RenderedChat {
  readonly text: string;
  /** Ascending, disjoint ranges of content: control tokens must not be recognised there. */
  readonly literal: readonly TextRange[];
}

/**
 * A Jinja chat template, compiled once. Rendering equals Transformers' `apply_chat_template`, takes bounded time and
 * memory whatever the template does, and knows for every character whether the template or the conversation wrote it.
 */
export class ChatTemplate {
  private readonly programs: ReadonlyMap<string, TemplateProgram>;
  private readonly tokens: ReadonlyMap<string, Value>;
  private readonly needs = new Map<TemplateProgram, ToolCallNeeds>();

  /**
   * @param source one template, or several by name
   * @throws ChatTemplateSyntaxError, ChatTemplateLimitError
   */
  constructor(source: ChatTemplateSource, options: ChatTemplateOptions = {}) {
    const limits = { ...DEFAULT_LIMITS, ...options.limits };
    const now = options.now ?? (() => new Date());
    const list = typeof source === 'string' ? [{ name: 'default', template: source }] : source;
    if (list.length === 0) throw new ChatTemplateError('the list of chat templates is empty');
    this.programs = new Map(list.map(({ name, template }) => [name, new TemplateProgram(template, limits, now)]));
    this.tokens = tokenVariables(options.specialTokens ?? {});
  }

  /** The tokenizer's own template, or undefined when its description holds none. */
  static fromTokenizer(tokenizer: Tokenizer, options: ChatTemplateOptions = {}): ChatTemplate | undefined {
    if (tokenizer.chatTemplate === undefined) return undefined;
    return new ChatTemplate(tokenizer.chatTemplate, { specialTokens: tokenizer.specialTokens, ...options });
  }

  /** Names of the templates. */
  get names(): readonly string[] {
    return [...this.programs.keys()];
  }

  /** Source of the template that would be used. */
  source(options: Pick<RenderOptions, 'template' | 'tools'> = {}): string {
    return this.program(options).source;
  }

  /**
   * The prompt's text.
   * @throws ChatTemplateRaisedError, ChatTemplateValueError, ChatTemplateLimitError
   */
  render(messages: readonly ChatMessage[], options: RenderOptions = {}): string {
    return plain(this.renderText(messages, options));
  }

  /** The prompt's text with the ranges that the conversation wrote. Throws as {@link render}. */
  renderMarked(messages: readonly ChatMessage[], options: RenderOptions = {}): RenderedChat {
    const rendered = this.renderText(messages, options);
    const literal: TextRange[] = [];
    if (typeof rendered !== 'string') {
      for (let i = 0; i < rendered.spans.length; i += 2) literal.push([rendered.spans[i]!, rendered.spans[i + 1]!]);
    }
    return { text: plain(rendered), literal };
  }

  /**
   * The prompt's ids. Control tokens are recognised in the template's own text only; there is exactly one BOS where the
   * tokenizer wants one, whether the template prints it or not. Throws as {@link render}.
   */
  renderToIds(tokenizer: Tokenizer, messages: readonly ChatMessage[], options: RenderOptions = {}): Uint32Array {
    const { text, literal } = this.renderMarked(messages, options);
    const ids = tokenizer.encodeWithLiterals(text, literal);
    const bos = tokenizer.specialTokens.bos?.id;
    if (bos === undefined) return ids;
    let printed = 0;
    while (printed < ids.length && ids[printed] === bos) printed++;
    if (printed > 0) return ids.subarray(printed - 1);
    return tokenizer.addsBos ? Uint32Array.of(bos, ...ids) : ids;
  }

  private program({ template, tools }: Pick<RenderOptions, 'template' | 'tools'>): TemplateProgram {
    const name = template ?? (tools !== undefined && this.programs.has('tool_use') ? 'tool_use' : 'default');
    const found =
      this.programs.get(name) ?? (this.programs.size === 1 && template === undefined ? this.first() : undefined);
    if (found !== undefined) return found;
    throw new ChatTemplateError(`there is no chat template named "${name}"; there are: ${this.names.join(', ')}`);
  }

  private first(): TemplateProgram | undefined {
    return this.programs.values().next().value;
  }

  private renderText(messages: readonly ChatMessage[], options: RenderOptions): Text {
    const program = this.program(options);
    const last = messages.at(-1);
    const isPrefix = last?.['role'] === 'assistant' && last['prefix'] === true;
    let prepared = isPrefix ? [...messages.slice(0, -1), withoutPrefix(last)] : messages;
    if (options.toolCalls !== 'as-given' && messages.some((message) => message['tool_calls'] !== undefined)) {
      prepared = adaptToolCalls(prepared, this.toolCallNeeds(program));
    }
    const continued = options.continueFinalMessage ?? isPrefix;
    const prompt = options.addGenerationPrompt ?? continued === false;
    if (continued === false) return this.run(program, prepared, options, prompt);
    if (prompt) {
      throw new ChatTemplateError('addGenerationPrompt and continueFinalMessage exclude each other: choose one');
    }
    const tagged = tagFinalMessage(prepared, continued === true ? 'content' : continued);
    return cutAtTag(this.run(program, tagged.messages, options, false), tagged.text);
  }

  private run(
    program: TemplateProgram,
    messages: readonly ChatMessage[],
    options: RenderOptions,
    prompt: boolean,
  ): Text {
    const variables = new Map<string, Value>(this.tokens);
    for (const [name, value] of Object.entries(options.variables ?? {})) {
      if (value !== undefined) variables.set(name, fromJson(value));
    }
    variables.set('messages', fromJson(messages));
    variables.set('tools', fromJson(options.tools ?? null));
    variables.set('documents', fromJson(options.documents ?? null));
    variables.set('add_generation_prompt', prompt);
    return program.run(variables);
  }

  private toolCallNeeds(program: TemplateProgram): ToolCallNeeds {
    let needs = this.needs.get(program);
    if (needs === undefined) {
      needs = detectToolCallNeeds((messages, tools) =>
        plain(this.run(program, messages, { tools: tools as readonly unknown[] }, false)),
      );
      this.needs.set(program, needs);
    }
    return needs;
  }
}

function withoutPrefix(message: ChatMessage): ChatMessage {
  const { prefix: _prefix, ...rest } = message;
  return rest;
}

function tokenVariables(tokens: SpecialTokens): Map<string, Value> {
  const variables = new Map<string, Value>();
  for (const name of ['bos', 'eos', 'pad', 'unk', 'sep', 'cls', 'mask'] as const) {
    const token = tokens[name];
    if (token !== undefined) variables.set(`${name}_token`, token.token);
  }
  return variables;
}
