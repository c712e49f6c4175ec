export { LLM, type LLMOptions, type RequestOptions } from './llm/llm.js';
export type { Delta, GeneratedChoice, Generation, GenerationStream } from './llm/generation.js';
export type { ChatOptions, RenderedChat } from './llm/chat-renderer.js';
export type { ChatMessage } from '@dsi/tokenizer';
export type { ScoredToken, TokenLogprob } from './llm/logprobs.js';
export type { EncodePromptOptions, Prompt } from './llm/prompt.js';
export { loadForEval } from './eval/load-for-eval.js';
export { evalLogits, type EvalLogitsOptions, type LogitsResult } from './eval/eval-logits.js';
export {
  evalPerplexity,
  type EvalPerplexityOptions,
  type PerplexityProgress,
  type PerplexityResult,
} from './eval/eval-perplexity.js';
export { startEngine, type StartOptions } from './client/start-engine.js';
export { EngineClient, type ConnectOptions, type EngineListener, type EngineRequest } from './client/engine-client.js';
export { inProcessLink, workerLink, type CoreLink } from './client/core-link.js';
export { RequestStream, type EngineDelta } from './client/request-stream.js';
export type { EngineInfo } from './load/engine-info.js';
export type { LoadEvent } from './load/load-event.js';
export {
  resolveEngineOptions,
  type BackendChoice,
  type DummyFormat,
  type EngineOptions,
} from './load/engine-options.js';
export type {
  EngineStats,
  FinishReason,
  FromCore,
  RequestMetrics,
  StepMetrics,
  ToCore,
  WireLogprobs,
} from './core/protocol.js';
export { maxLogprobs, type ResolvedSampling, type SamplingParams } from './sampling/sampling-params.js';
export { resolveSampling, type SamplingContext } from './sampling/resolve-sampling.js';
export { EngineError } from './errors/engine-error.js';
export {
  ChatTemplateMissingError,
  ContextLengthError,
  DuplicateRequestError,
  InvalidParameterError,
  KvCapacityError,
  NumericalError,
  QueueFullError,
  StepFailedError,
  TokenizerMissingError,
} from './errors/request-errors.js';
export {
  BackendUnavailableError,
  EngineClosedError,
  EngineConfigError,
  EngineCrashedError,
  RemoteError,
  type BackendCandidate,
} from './errors/lifecycle-errors.js';
