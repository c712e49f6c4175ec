/** How a request is decoded. Everything is optional; absent fields take the engine's defaults, then the neutral value. */
export interface SamplingParams {
  /** New tokens at most; default: the rest of the context. */
  readonly maxTokens?: number;
  /** No stop rule applies before this many new tokens. Default 0. */
  readonly minTokens?: number;
  /** 0 is greedy, exactly. Default 1. */
  readonly temperature?: number;
  /** Keep the k best; 0 or -1 keeps all. */
  readonly topK?: number;
  readonly topP?: number;
  readonly minP?: number;
  readonly typicalP?: number;
  /** Keep logits within this many standard deviations of the best; 0 = off. */
  readonly topNSigma?: number;
  readonly xtcProbability?: number;
  readonly xtcThreshold?: number;
  /** Over prompt and output; 1 = off. */
  readonly repetitionPenalty?: number;
  /** Over the output only. */
  readonly frequencyPenalty?: number;
  readonly presencePenalty?: number;
  /** Added to the logits, by token id, -100 to 100. */
  readonly logitBias?: Readonly<Record<string, number>> | ReadonlyMap<number, number>;
  /** Texts that must not be generated; their last token is banned where the rest was generated. */
  readonly badWords?: readonly string[];
  /** 64 bits; drawn at admission when absent, and returned. */
  readonly seed?: number | bigint;
  /** Independent choices for one prompt. Default 1. */
  readonly n?: number;
  readonly stop?: string | readonly string[];
  readonly stopTokenIds?: readonly number[];
  readonly includeStopStrInOutput?: boolean;
  readonly ignoreEos?: boolean;
  /** Log-probability of every new token, and of the best `logprobs` others (0 to 20). */
  readonly logprobs?: number;
  /** The same for the prompt's tokens; the prompt is then computed in full, without prefix hits. */
  readonly promptLogprobs?: number;
  /** `raw` (default): log-softmax of the model's logits. `processed`: of what the sampler chain leaves. */
  readonly logprobsMode?: 'raw' | 'processed';
  /** Leave special tokens out of the text. Default true. */
  readonly skipSpecialTokens?: boolean;
}

/** Parameters with every default applied and every value checked: plain data, the same on both sides of the port. */
export interface ResolvedSampling {
  /** Undefined until admission: the rest of the context. */
  readonly maxTokens: number | undefined;
  readonly minTokens: number;
  readonly temperature: number;
  readonly topK: number;
  readonly topP: number;
  readonly minP: number;
  readonly typicalP: number;
  readonly topNSigma: number;
  readonly xtcProbability: number;
  readonly xtcThreshold: number;
  readonly repetitionPenalty: number;
  readonly frequencyPenalty: number;
  readonly presencePenalty: number;
  readonly biasIds: readonly number[];
  readonly biasValues: readonly number[];
  /** Token sequences; the last id is banned where the ones before it end the output. */
  readonly badWordIds: readonly (readonly number[])[];
  readonly seed: bigint | undefined;
  readonly n: number;
  readonly stop: readonly string[];
  readonly stopTokenIds: readonly number[];
  readonly includeStopStrInOutput: boolean;
  readonly ignoreEos: boolean;
  /** -1 = none. */
  readonly logprobs: number;
  /** -1 = none. */
  readonly promptLogprobs: number;
  readonly processedLogprobs: boolean;
  readonly skipSpecialTokens: boolean;
}

/** Most logprobs a request may ask for. */
export const maxLogprobs = 20;
