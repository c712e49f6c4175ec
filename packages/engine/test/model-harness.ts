import { nativeStatus, type Numerics } from '@dsi/kernels';
import { openModel } from '@dsi/model-files';
import { loadModelDefinition } from '@dsi/models';
import { inProcessLink } from '../src/client/core-link.js';
import { EngineClient } from '../src/client/engine-client.js';
import type { RequestStream } from '../src/client/request-stream.js';
import { serveCore } from '../src/core/serve-core.js';
import { assembleEngine } from '../src/load/assemble-engine.js';
import { chooseBackend } from '../src/load/backends.js';
import { resolveEngineOptions, type EngineOptions } from '../src/load/engine-options.js';

/** An engine over model files, in this thread, without a tokenizer: a token's text is `<id>`. */
export function openEngine(options: EngineOptions): Promise<EngineClient> {
  const link = inProcessLink((port) =>
    serveCore(port, async (onEvent, signal) => {
      const definition = await loadModelDefinition(await openModel(options.model));
      const resolved = resolveEngineOptions(options);
      const parts = {
        path: options.model,
        definition,
        text: { open: () => ({ push: (id: number) => `<${id}>`, finish: () => '' }) },
        bosTokenId: definition.config.bosTokenId,
        eosTokenIds: definition.config.eosTokenIds,
        defaultSampling: {},
      };
      return assembleEngine(parts, resolved, chooseBackend(resolved.backend, resolved.threads), onEvent, signal);
    }),
  );
  return EngineClient.connect(link);
}

export interface BackendCase {
  readonly backend: 'reference' | 'cpu';
  readonly numerics: Numerics;
}

const native = nativeStatus().available || process.env['DSI_REQUIRE_NATIVE'] === '1';

/** What the tests run on: always the reference; the native kernels where they are built, or have to be. */
export const backendCases: readonly BackendCase[] = [
  { backend: 'reference', numerics: 'exact' },
  { backend: 'reference', numerics: 'fast' },
  ...(native
    ? ([
        { backend: 'cpu', numerics: 'exact' },
        { backend: 'cpu', numerics: 'fast' },
      ] as const)
    : []),
];

export interface Trace {
  readonly tokens: number[];
  /** Bits of the raw logits of every token. */
  readonly logits: Uint32Array[];
  readonly cachedTokens: number;
}

/** Tokens and logit bits of one choice. */
export async function trace(stream: RequestStream, choice = 0): Promise<Trace> {
  const result = { tokens: [] as number[], logits: [] as Uint32Array[], cachedTokens: 0 };
  for await (const delta of stream) {
    if (delta.choice !== choice) continue;
    result.tokens.push(...delta.tokenIds);
    result.cachedTokens = delta.cachedTokens;
    for (const row of delta.logits ?? []) result.logits.push(new Uint32Array(row.slice().buffer));
  }
  return result;
}
