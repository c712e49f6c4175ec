import type { Numerics } from '@dsi/kernels';
import type { SamplingParams } from '../sampling/sampling-params.js';

/** What was loaded, and the limits that hold. Plain data. */
export interface EngineInfo {
  /** As the caller named it. */
  readonly model: string;
  /** Directory or file that it resolved to. */
  readonly path: string;
  readonly architecture: string;
  readonly backend: string;
  /** For people: `avx512 (vnni, bf16), 2 threads`. */
  readonly backendDescription: string;
  readonly numerics: Numerics;
  readonly vocabSize: number;
  readonly bosTokenId: number | undefined;
  readonly eosTokenIds: readonly number[];
  /** Tokens of a sequence at most (prompt and output). */
  readonly maxModelLen: number;
  readonly maxNumSeqs: number;
  readonly maxNumBatchedTokens: number;
  readonly maxChoices: number;
  readonly blockSize: number;
  /** Usable blocks of the pool. */
  readonly numBlocks: number;
  readonly kvBytes: number;
  readonly weightBytes: number;
  readonly arenaBytes: number;
  readonly loadMs: number;
  /** From generation_config.json; taken where a request says nothing. */
  readonly defaultSampling: SamplingParams;
  /** Decisions the caller should know of (a backend chosen by `auto`, a context cut to the pool). */
  readonly notices: readonly string[];
}
