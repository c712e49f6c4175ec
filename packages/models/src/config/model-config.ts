import type { QuantizationConfig } from './quantization-config.js';
import type { RopeConfig } from './rope-config.js';

/** Multi-head latent attention (DeepSeek-V2, section 2.1): sizes of the compressed projections. */
export interface MlaConfig {
  /** Rank of the query compression; undefined: q_proj straight from the hidden state. */
  readonly qLoraRank: number | undefined;
  /** Width of the cached latent (C). */
  readonly kvLoraRank: number;
  readonly qkNopeHeadDim: number;
  readonly qkRopeHeadDim: number;
  readonly vHeadDim: number;
}

/** Which experts a token goes to, and with what weight (the attributes of op `moe_route`). */
export interface RouterConfig {
  readonly scoring: 'softmax' | 'sigmoid';
  /** DeepSeek-V3's e_score_correction_bias: added for the choice, not in the weights. */
  readonly correctionBias: boolean;
  readonly groups: number;
  readonly topkGroups: number;
  readonly groupScore: 'max' | 'top2sum';
  readonly normalize: boolean;
  readonly scale: number;
}

export interface MoeConfig {
  readonly experts: number;
  readonly expertsPerToken: number;
  /** Width of one routed expert. */
  readonly intermediateSize: number;
  /** Width of the always-active MLP beside the experts, 0 = none. */
  readonly sharedIntermediateSize: number;
  /** The shared MLP is scaled by sigmoid(gate(x)) (qwen2_moe). */
  readonly sharedGate: boolean;
  readonly router: RouterConfig;
  /** One entry a layer: true where the MLP is a mixture of experts. */
  readonly sparseLayers: readonly boolean[];
}

/** Which optional bias vectors the linear layers have. `if-present`: GGUF does not say, the file's tensors decide. */
export type BiasPresence = boolean | 'if-present';

/** A decoder-only transformer's hyperparameters, normalised over checkpoint formats and range-checked. */
export interface ModelConfig {
  /** Name in the registry: `llama`, `qwen2_moe`, `deepseek_v3`, ... */
  readonly architecture: string;
  readonly hiddenSize: number;
  readonly layers: number;
  readonly heads: number;
  readonly kvHeads: number;
  /** Of queries and keys; for MLA nope + rope. */
  readonly headDim: number;
  /** Width of the dense MLP. */
  readonly intermediateSize: number;
  readonly vocabSize: number;
  /** Longest sequence, in tokens, that the RoPE parameters stand for. */
  readonly maxPositions: number;
  readonly rmsNormEps: number;
  readonly tieWordEmbeddings: boolean;
  readonly qkvBias: BiasPresence;
  readonly outputBias: BiasPresence;
  readonly mlpBias: BiasPresence;
  /** RMSNorm over each head of q and k before RoPE (qwen3). */
  readonly qkNorm: boolean;
  /** One entry a layer: number of visible tokens including the query's own, 0 = all. */
  readonly windows: readonly number[];
  readonly rope: RopeConfig;
  readonly mla: MlaConfig | undefined;
  readonly moe: MoeConfig | undefined;
  /** Multi-token-prediction modules after the last layer (DeepSeek-V3: 1). */
  readonly mtpLayers: number;
  readonly bosTokenId: number | undefined;
  /** All ids that end a sequence; empty when the checkpoint names none. */
  readonly eosTokenIds: readonly number[];
  /** Element type the checkpoint was published in; the KV cache's default in fast numerics. */
  readonly dtype: 'f32' | 'f16' | 'bf16';
  readonly quantization: QuantizationConfig | undefined;
}
