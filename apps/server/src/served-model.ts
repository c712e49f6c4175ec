import type { SamplingParams } from '@dsi/engine';

/** Log-probability of one token; `bytes` are the token's true bytes (half a character stays half a character). */
export interface TokenLogprob {
  readonly id: number;
  readonly text: string;
  readonly bytes: readonly number[];
  readonly logprob: number;
}

export interface ChosenLogprob extends TokenLogprob {
  /** The best tokens at this position, best first, as many as asked for. */
  readonly top: readonly TokenLogprob[];
}

/** What one step adds to one choice. */
export interface ChoiceDelta {
  readonly choice: number;
  readonly text: string;
  readonly tokenIds: readonly number[];
  readonly logprobs?: readonly ChosenLogprob[];
  /** Set on the choice's last delta: `stop`, `length`, or a reason that ends a request abnormally. */
  readonly finishReason?: string;
  /** The stop string or token id that ended it. */
  readonly stopReason?: string | number | null;
}

/** A request that was admitted. */
export interface Generation {
  readonly promptTokens: number;
  /** Prompt tokens found in the prefix cache; known from the first delta on. */
  readonly cachedTokens: () => number;
  /** One entry a prompt token (the first has none: null), once the prompt is computed. */
  readonly promptLogprobs: () => readonly (ChosenLogprob | null)[] | undefined;
  readonly deltas: AsyncIterable<ChoiceDelta>;
}

export interface ServeRequest {
  readonly requestId: string;
  readonly promptIds: Uint32Array;
  readonly params: SamplingParams;
  readonly priority?: number;
  readonly cacheSalt?: string;
  readonly signal: AbortSignal;
}

/** A chat rendered to ids. */
export interface RenderedChat {
  readonly ids: Uint32Array;
  readonly text: string;
}

export interface RenderOptions {
  readonly addGenerationPrompt: boolean;
  readonly continueFinalMessage: boolean;
  readonly templateKwargs: Readonly<Record<string, unknown>>;
}

export interface ModelStats {
  readonly running: number;
  readonly waiting: number;
  /** 0 to 1. */
  readonly kvUsage: number;
  readonly prefixQueries: number;
  readonly prefixHits: number;
  readonly preemptions: number;
  readonly promptTokens: number;
  readonly generationTokens: number;
}

/** What the HTTP layer needs of a model. The engine's `LLM` is behind it in production, a double in tests. */
export interface ServedModel {
  readonly id: string;
  readonly aliases: readonly string[];
  /** Seconds since 1970. */
  readonly created: number;
  readonly maxModelLen: number;
  /** A text with more UTF-16 units than this has more than `maxModelLen` tokens, whatever it says. */
  readonly maxPromptChars: number;
  readonly vocabSize: number;
  readonly hasChatTemplate: boolean;
  encode(text: string, options: { addSpecialTokens: boolean; parseSpecial: boolean }): Uint32Array;
  decode(ids: readonly number[], options: { skipSpecialTokens: boolean }): string;
  tokenText(id: number): string;
  renderChat(messages: readonly Readonly<Record<string, unknown>>[], options: RenderOptions): RenderedChat;
  /** Rejects with a typed error when the request is refused at admission. */
  generate(request: ServeRequest): Promise<Generation>;
  stats(): ModelStats;
}
