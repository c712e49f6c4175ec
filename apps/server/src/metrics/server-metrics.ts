import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
import type { ModelStats } from '../served-model.js';
import type { EventLoopMonitor } from './event-loop.js';

const timeToFirstTokenBuckets = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560,
];
const interTokenBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5];
const requestBuckets = [0.1, 0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920];
const tokenBuckets = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000];

/** What one finished request is remembered by. Seconds. */
export interface FinishedRequest {
  readonly finishReason: string;
  readonly promptTokens: number;
  readonly generationTokens: number;
  readonly n: number;
  readonly maxTokens: number;
  readonly queueSeconds?: number | undefined;
  readonly prefillSeconds?: number | undefined;
  readonly decodeSeconds?: number | undefined;
  readonly firstTokenSeconds?: number | undefined;
  readonly totalSeconds: number;
}

/** Prometheus metrics under the `vllm:` names that dashboards know. */
export class ServerMetrics {
  readonly registry = new Registry();
  readonly #requests: Counter<'model_name' | 'finished_reason'>;
  readonly #histograms: Readonly<Record<string, Histogram<'model_name'>>>;

  constructor(
    private readonly modelName: string,
    gauges: () => ModelStats | undefined,
    eventLoop: EventLoopMonitor,
  ) {
    const registers = [this.registry];
    collectDefaultMetrics({ register: this.registry });
    const gauge = (name: string, help: string, read: (g: ModelStats) => number) =>
      new Gauge({
        name,
        help,
        registers,
        labelNames: ['model_name'],
        collect() {
          const now = gauges();
          if (now) this.set({ model_name: modelName }, read(now));
        },
      });
    gauge('vllm:num_requests_running', 'Requests in the running batch.', (g) => g.running);
    gauge('vllm:num_requests_waiting', 'Requests waiting to be scheduled.', (g) => g.waiting);
    gauge('vllm:kv_cache_usage_perc', 'Share of the KV cache in use, 0 to 1.', (g) => g.kvUsage);
    gauge('vllm_kv_cache_usage_pct', 'Share of the KV cache in use, 0 to 100.', (g) => 100 * g.kvUsage);
    const counter = (name: string, help: string, read: (g: ModelStats) => number) => {
      let last = 0;
      new Counter({
        name,
        help,
        registers,
        labelNames: ['model_name'],
        collect() {
          const value = gauges();
          const now = value ? read(value) : last;
          if (now > last) this.inc({ model_name: modelName }, now - last);
          else if (last === 0) this.inc({ model_name: modelName }, 0);
          last = Math.max(last, now);
        },
      });
    };
    counter('vllm:prefix_cache_queries_total', 'Prompt tokens looked up in the prefix cache.', (g) => g.prefixQueries);
    counter('vllm:prefix_cache_hits_total', 'Prompt tokens found in the prefix cache.', (g) => g.prefixHits);
    counter('vllm:num_preemptions_total', 'Preemptions.', (g) => g.preemptions);
    counter('vllm:prompt_tokens_total', 'Prompt tokens processed.', (g) => g.promptTokens);
    counter('vllm:generation_tokens_total', 'Tokens generated.', (g) => g.generationTokens);
    counter('vllm_request_prompt_tokens_total', 'Prompt tokens processed.', (g) => g.promptTokens);
    this.#requests = new Counter({
      name: 'vllm:request_success_total',
      help: 'Finished requests by reason.',
      labelNames: ['model_name', 'finished_reason'],
      registers,
    });
    const histogram = (name: string, help: string, buckets: number[]) =>
      new Histogram({ name, help, buckets, registers, labelNames: ['model_name'] });
    this.#histograms = {
      promptTokens: histogram('vllm:request_prompt_tokens', 'Prompt tokens a request.', tokenBuckets),
      generationTokens: histogram('vllm:request_generation_tokens', 'Generated tokens a request.', tokenBuckets),
      n: histogram('vllm:request_params_n', 'The parameter n.', [1, 2, 5, 10, 20]),
      maxTokens: histogram('vllm:request_params_max_tokens', 'The parameter max_tokens.', tokenBuckets),
      iterationTokens: histogram(
        'vllm:iteration_tokens_total',
        'Tokens computed a step.',
        [1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192],
      ),
      firstToken: histogram('vllm:time_to_first_token_seconds', 'Time to first token.', timeToFirstTokenBuckets),
      interToken: histogram('vllm:inter_token_latency_seconds', 'Time between tokens.', interTokenBuckets),
      perToken: histogram(
        'vllm:request_time_per_output_token_seconds',
        'Mean time an output token of a request.',
        interTokenBuckets,
      ),
      total: histogram('vllm:e2e_request_latency_seconds', 'Request latency.', requestBuckets),
      queue: histogram('vllm:request_queue_time_seconds', 'Time waiting.', requestBuckets),
      inference: histogram('vllm:request_inference_time_seconds', 'Time running.', requestBuckets),
      prefill: histogram('vllm:request_prefill_time_seconds', 'Time in prefill.', requestBuckets),
      decode: histogram('vllm:request_decode_time_seconds', 'Time in decode.', requestBuckets),
    };
    new Histogram({
      name: 'vllm_decode_latency_seconds',
      help: 'Time between tokens.',
      buckets: interTokenBuckets,
      registers,
      labelNames: ['model_name'],
    });
    new Gauge({
      name: 'dsi_http_event_loop_delay_p99_seconds',
      help: 'P99 delay of the HTTP event loop since start.',
      registers,
      collect() {
        this.set(eventLoop.p99Seconds());
      },
    });
  }

  #observe(name: string, value: number | undefined): void {
    if (value !== undefined && Number.isFinite(value))
      this.#histograms[name]!.observe({ model_name: this.modelName }, value);
  }

  /** A step of the engine: tokens computed, and seconds since the previous token of each sequence that got another one. */
  step(tokens: number, interTokenSeconds: readonly number[]): void {
    this.#observe('iterationTokens', tokens);
    const alias = this.registry.getSingleMetric('vllm_decode_latency_seconds') as Histogram<'model_name'>;
    for (const seconds of interTokenSeconds) {
      this.#observe('interToken', seconds);
      alias.observe({ model_name: this.modelName }, seconds);
    }
  }

  finished(request: FinishedRequest): void {
    this.#requests.inc({ model_name: this.modelName, finished_reason: request.finishReason });
    this.#observe('promptTokens', request.promptTokens);
    this.#observe('generationTokens', request.generationTokens);
    this.#observe('n', request.n);
    this.#observe('maxTokens', request.maxTokens);
    this.#observe('firstToken', request.firstTokenSeconds);
    this.#observe('total', request.totalSeconds);
    this.#observe('queue', request.queueSeconds);
    this.#observe('prefill', request.prefillSeconds);
    this.#observe('decode', request.decodeSeconds);
    if (request.prefillSeconds !== undefined && request.decodeSeconds !== undefined) {
      this.#observe('inference', request.prefillSeconds + request.decodeSeconds);
    }
    if (request.decodeSeconds !== undefined && request.generationTokens > request.n) {
      this.#observe('perToken', request.decodeSeconds / Math.max(1, request.generationTokens / request.n - 1));
    }
  }

  async text(): Promise<string> {
    return this.registry.metrics();
  }
}
