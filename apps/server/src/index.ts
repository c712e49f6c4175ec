export { startServer, type RunningServer, type ServerOptions } from './start-server.js';
export { createApp, type AppOptions } from './app.js';
export { ModelDirectory, type LoadState, type ServerContext } from './http/context.js';
export { ApiError, type ApiErrorBody, type ApiErrorOptions } from './http/api-error.js';
export { ServerMetrics, type FinishedRequest } from './metrics/server-metrics.js';
export { startEventLoopMonitor, type EventLoopMonitor } from './metrics/event-loop.js';
export { llmModel, type LlmModelOptions } from './llm-model.js';
export type {
  ChoiceDelta,
  ChosenLogprob,
  Generation,
  ModelStats,
  RenderOptions,
  RenderedChat,
  ServeRequest,
  ServedModel,
  TokenLogprob,
} from './served-model.js';
export { version } from './version.js';
