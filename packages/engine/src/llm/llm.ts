import { openModel } from '@dsi/model-files';
import type { ChatMessage, Tokenizer } from '@dsi/tokenizer';
import { startEngine, type StartOptions } from '../client/start-engine.js';
import type { EngineClient } from '../client/engine-client.js';
import type { EngineDelta } from '../client/request-stream.js';
import type { EngineStats } from '../core/protocol.js';
import type { EngineInfo } from '../load/engine-info.js';
import type { EngineOptions } from '../load/engine-options.js';
import type { LoadEvent } from '../load/load-event.js';
import { openTokenizer } from '../load/open-tokenizer.js';
import { TokenizerMissingError } from '../errors/request-errors.js';
import { resolveSampling } from '../sampling/resolve-sampling.js';
import type { SamplingParams } from '../sampling/sampling-params.js';
import { ChatRenderer, type ChatOptions, type RenderedChat } from './chat-renderer.js';
import { collectGeneration, mapStream, type Delta, type Generation, type GenerationStream } from './generation.js';
import { withBytes } from './logprobs.js';
import { encodePrompt, isBatch, type EncodePromptOptions, type Prompt } from './prompt.js';

export interface LLMOptions extends EngineOptions, Pick<StartOptions, 'inProcess' | 'signal'> {
  /** Bytes downloaded and weights loaded so far. */
  readonly onProgress?: (event: LoadEvent) => void;
}

export interface RequestOptions extends EncodePromptOptions {
  /** Aborting ends the request within a step; the promise or loop rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Unique among the running ones. Default: a UUID. */
  readonly requestId?: string;
  /** Lower is served first under the `priority` policy. */
  readonly priority?: number;
  /** Requests with different salts share no cached prefix. */
  readonly cacheSalt?: string;
  /** Raw logits of so many tokens; needs an engine loaded with `captureLogits`. */
  readonly captureLogits?: number;
}

/** A loaded model: text or chat in, text out. The model runs in a worker thread; any number of requests run at once. */
export class LLM implements AsyncDisposable {
  readonly #tokenizer: Tokenizer | undefined;
  readonly #chat: ChatRenderer | undefined;

  private constructor(
    readonly engine: EngineClient,
    tokenizer?: Tokenizer,
    chatTemplate?: string,
  ) {
    this.#tokenizer = tokenizer;
    if (tokenizer) this.#chat = new ChatRenderer(tokenizer, chatTemplate);
  }

  /**
   * Loads a model. Nothing is chosen silently: a backend that does not load is an error with the reasons.
   * @throws EngineConfigError, BackendUnavailableError, errors of the model's files, the signal's reason
   */
  static async load(options: LLMOptions): Promise<LLM> {
    const { onProgress, signal, inProcess, ...engineOptions } = options;
    const engine = await startEngine(engineOptions, {
      ...(onProgress ? { onLoad: onProgress } : {}),
      ...(signal ? { signal } : {}),
      ...(inProcess === undefined ? {} : { inProcess }),
    });
    if (engineOptions.loadFormat === 'dummy') return new LLM(engine);
    try {
      const files = await openModel(engine.info.path);
      try {
        const tokenizer = await openTokenizer(files);
        return tokenizer ? new LLM(engine, tokenizer, await files.chatTemplate?.()) : new LLM(engine);
      } finally {
        await files.close();
      }
    } catch (error) {
      await engine.close();
      throw error;
    }
  }

  /** @throws TokenizerMissingError when the model's files hold none (and with `loadFormat: 'dummy'`) */
  get tokenizer(): Tokenizer {
    if (!this.#tokenizer) throw new TokenizerMissingError();
    return this.#tokenizer;
  }

  get info(): EngineInfo {
    return this.engine.info;
  }

  /** Statistics of the last step; undefined before the first. */
  get stats(): EngineStats | undefined {
    return this.engine.stats;
  }

  /** Whether the model has a chat template. */
  get hasChatTemplate(): boolean {
    return this.#chat?.available ?? false;
  }

  /**
   * Starts a request and hands out its deltas.
   * @throws InvalidParameterError for a bad parameter or prompt, TokenizerMissingError, EngineClosedError, EngineCrashedError; errors found by the
   * core (too long, no capacity, numerical) come out of the stream
   */
  stream(prompt: Prompt, params: SamplingParams = {}, options: RequestOptions = {}): GenerationStream {
    return this.#start(this.encodePrompt(prompt, options), params, options);
  }

  /** Generates for one prompt, or for a list of prompts at once. A failure of one of a list ends the others. */
  generate(prompt: Prompt, params?: SamplingParams, options?: RequestOptions): Promise<Generation>;
  generate(prompts: readonly Prompt[], params?: SamplingParams, options?: RequestOptions): Promise<Generation[]>;
  async generate(
    prompts: Prompt | readonly Prompt[],
    params: SamplingParams = {},
    options: RequestOptions = {},
  ): Promise<Generation | Generation[]> {
    if (!isBatch(prompts)) return collectGeneration(this.stream(prompts, params, options));
    const streams: GenerationStream[] = [];
    const { requestId, ...rest } = options;
    try {
      prompts.forEach((prompt, i) => {
        const id = requestId === undefined ? {} : { requestId: `${requestId}-${i}` };
        streams.push(this.stream(prompt, params, { ...rest, ...id }));
      });
      return await Promise.all(streams.map(collectGeneration));
    } catch (error) {
      for (const stream of streams) stream.abort();
      throw error;
    }
  }

  /** Generates the next message of a chat. @throws ChatTemplateMissingError and as `stream` */
  async chat(
    messages: readonly ChatMessage[],
    params: SamplingParams = {},
    options: ChatOptions & RequestOptions = {},
  ): Promise<Generation> {
    return collectGeneration(this.streamChat(messages, params, options));
  }

  /** As `chat`, in deltas. */
  streamChat(
    messages: readonly ChatMessage[],
    params: SamplingParams = {},
    options: ChatOptions & RequestOptions = {},
  ): GenerationStream {
    return this.#start(this.renderChat(messages, options).ids, params, options);
  }

  /** The prompt of a chat, as text and ids. Template text may hold control tokens, message content never does. */
  renderChat(messages: readonly ChatMessage[], options: ChatOptions = {}): RenderedChat {
    if (!this.#chat) throw new TokenizerMissingError();
    return this.#chat.render(messages, options);
  }

  /** Token ids of a prompt, as `generate` would take it. */
  encodePrompt(prompt: Prompt, options: EncodePromptOptions = {}): Int32Array {
    return encodePrompt(prompt, () => this.tokenizer, this.info.vocabSize, options);
  }

  /** Ids of plain text: no special tokens added, none recognised, unless asked for. */
  tokenize(text: string, options: EncodePromptOptions = {}): Int32Array {
    return encodePrompt(text, () => this.tokenizer, this.info.vocabSize, {
      addSpecialTokens: false,
      parseSpecial: false,
      ...options,
    });
  }

  detokenize(ids: ArrayLike<number>, options: { readonly skipSpecialTokens?: boolean } = {}): string {
    return this.tokenizer.decode(ids, options);
  }

  /** Ends every request and frees the model. Idempotent. */
  close(): Promise<void> {
    return this.engine.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #start(promptIds: Int32Array, params: SamplingParams, options: RequestOptions): GenerationStream {
    const { requestId, priority, cacheSalt, captureLogits, signal } = options;
    const sampling = resolveSampling(params, {
      vocabSize: this.info.vocabSize,
      maxChoices: this.info.maxChoices,
      defaults: this.info.defaultSampling,
      encode: (text) => Array.from(this.tokenizer.encode(text, { addSpecialTokens: false })),
    });
    if (sampling.stop.length > 0 && !this.#tokenizer) throw new TokenizerMissingError();
    const stream = this.engine.add({
      promptIds,
      sampling,
      ...(requestId === undefined ? {} : { requestId }),
      ...(priority === undefined ? {} : { priority }),
      ...(cacheSalt === undefined ? {} : { cacheSalt }),
      ...(captureLogits === undefined ? {} : { captureLogits }),
      ...(signal ? { signal } : {}),
    });
    const abort = () => this.engine.abort(stream.requestId);
    return mapStream(stream, promptIds, (delta) => this.#delta(delta), abort);
  }

  #delta(delta: EngineDelta): Delta {
    const { logprobs, promptLogprobs, ...rest } = delta;
    return {
      ...rest,
      ...(logprobs ? { logprobs: logprobs.map((entry) => withBytes(entry, this.#tokenizer)) } : {}),
      ...(promptLogprobs
        ? { promptLogprobs: promptLogprobs.map((entry) => entry && withBytes(entry, this.#tokenizer)) }
        : {}),
    };
  }
}
