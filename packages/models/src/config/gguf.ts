import { UnsupportedModelError } from '../errors.js';
import { Fields } from './fields.js';
import { ropeFromGguf, type GgufRopeTensors } from './gguf-rope.js';
import { limits } from './limits.js';
import type { MlaConfig, ModelConfig, MoeConfig, RouterConfig } from './model-config.js';
import { checkedMoe } from './moe.js';
import { ropeReach, type RopeConfig } from './rope-config.js';

/** What the tensors of a GGUF file tell that its metadata does not. */
export interface GgufTensors extends GgufRopeTensors {
  shapeOf(tensor: string): readonly number[] | undefined;
}

/** Where an architecture differs from the common decoder when GGUF metadata is read. */
export interface GgufTraits {
  readonly architecture: string;
  readonly qkNorm?: boolean;
  readonly ropeStyle?: RopeConfig['style'];
  readonly mla?: MlaConfig;
  readonly moe?: (fields: Fields, layers: number) => MoeConfig | undefined;
}

/** A GGUF file's metadata as fields: names without a dot-separated namespace of their own belong to the architecture. */
export function ggufFields(metadata: ReadonlyMap<string, unknown>, architecture: string): Fields {
  const absolute = /^(general|tokenizer)\./;
  return new Fields({
    label: 'GGUF',
    get: (name) => metadata.get(absolute.test(name) ? name : `${architecture}.${name}`),
  });
}

/** Reads the keys that every decoder shares; throws ModelConfigError or UnsupportedModelError. */
export function decoderFromGguf(fields: Fields, tensors: GgufTensors, traits: GgufTraits): ModelConfig {
  const { mla } = traits;
  const hiddenSize = fields.integer('embedding_length', { max: limits.hiddenSize });
  const mtpLayers = fields.optionalInteger('nextn_predict_layers', { min: 0, max: limits.mtpLayers }) ?? 0;
  const layers = fields.integer('block_count', { min: mtpLayers + 1, max: limits.layers }) - mtpLayers;
  const heads =
    uniform(fields, 'attention.head_count', limits.heads) ??
    fields.integer('attention.head_count', { max: limits.heads });
  const kvHeads = mla === undefined ? (uniform(fields, 'attention.head_count_kv', heads) ?? heads) : 1;
  if (heads % kvHeads !== 0)
    throw fields.error('attention.head_count_kv', kvHeads, `a divisor of head_count (${heads})`);
  const headDim = mla === undefined ? plainHeadDim(fields, hiddenSize, heads) : mla.qkNopeHeadDim + mla.qkRopeHeadDim;
  const maxPositions = fields.optionalInteger('context_length', { max: limits.positions }) ?? 2048;
  const vocabSize = vocabularySize(fields, tensors);
  const window = fields.optionalInteger('attention.sliding_window', { min: 0, max: limits.positions }) ?? 0;
  const rope = ropeFromGguf(fields, tensors, {
    dim: mla?.qkRopeHeadDim ?? rotatedDim(fields, headDim),
    style: traits.ropeStyle ?? 'half',
    maxPositions,
    mscaleInSoftmax: mla !== undefined,
  });
  return {
    architecture: traits.architecture,
    hiddenSize,
    layers,
    heads,
    kvHeads,
    headDim,
    intermediateSize:
      uniform(fields, 'feed_forward_length', limits.intermediateSize) ??
      fields.integer('feed_forward_length', { max: limits.intermediateSize }),
    vocabSize,
    maxPositions: ropeReach(rope.scaling, maxPositions),
    rmsNormEps: fields.optionalNumber('attention.layer_norm_rms_epsilon', { above: 0, max: 1 }) ?? 1e-5,
    tieWordEmbeddings: tensors.shapeOf('output.weight') === undefined,
    qkvBias: 'if-present',
    outputBias: 'if-present',
    mlpBias: 'if-present',
    qkNorm: traits.qkNorm ?? false,
    windows: Array.from({ length: layers }, () => window),
    rope,
    mla,
    moe: traits.moe?.(fields, layers),
    mtpLayers,
    bosTokenId: fields.optionalInteger('tokenizer.ggml.bos_token_id', { min: 0, max: vocabSize - 1 }),
    eosTokenIds: eosIds(fields, vocabSize),
    // GGUF has no field for the model's dtype; file type 32 is BF16, everything else was made from or for f16.
    dtype: fields.raw('general.file_type') === 32 ? 'bf16' : 'f16',
    quantization: undefined,
  };
}

/** What the experts of a GGUF architecture are when its metadata does not say. */
export interface GgufExpertDefaults {
  readonly router: RouterConfig;
  readonly sharedGate?: boolean;
}

/** Expert keys; undefined where the file has no experts. */
export function expertsFromGguf(fields: Fields, layers: number, defaults: GgufExpertDefaults): MoeConfig | undefined {
  const experts = fields.optionalInteger('expert_count', { min: 0, max: limits.experts }) ?? 0;
  if (experts === 0) return undefined;
  const intermediateSize =
    fields.optionalInteger('expert_feed_forward_length', { max: limits.intermediateSize }) ??
    fields.integer('feed_forward_length', { max: limits.intermediateSize });
  const shared = fields.optionalInteger('expert_shared_count', { min: 0, max: limits.experts }) ?? 0;
  const sharedIntermediateSize =
    fields.optionalInteger('expert_shared_feed_forward_length', { max: limits.intermediateSize }) ??
    shared * intermediateSize;
  if (sharedIntermediateSize > limits.intermediateSize) {
    throw fields.error(
      'expert_shared_count',
      shared,
      `at most ${limits.intermediateSize} rows of shared experts together`,
    );
  }
  const firstDense = fields.optionalInteger('leading_dense_block_count', { min: 0, max: limits.layers }) ?? 0;
  const scale = fields.optionalNumber('expert_weights_scale', { min: 0, max: 1e6 }) ?? 0;
  return checkedMoe(fields, {
    experts,
    expertsPerToken: fields.integer('expert_used_count', { max: limits.experts }),
    intermediateSize,
    sharedIntermediateSize,
    sharedGate: defaults.sharedGate ?? false,
    router: {
      ...defaults.router,
      groups: fields.optionalInteger('expert_group_count', { max: limits.groups }) ?? defaults.router.groups,
      topkGroups:
        fields.optionalInteger('expert_group_used_count', { max: limits.groups }) ?? defaults.router.topkGroups,
      normalize: fields.boolean('expert_weights_norm', defaults.router.normalize),
      // Writers put 0 where a model has no scale.
      scale: scale === 0 ? defaults.router.scale : scale,
    },
    sparseLayers: Array.from({ length: layers }, (_, i) => i >= firstDense),
  });
}

/** A count that newer writers may give one a layer; only equal counts are supported. Undefined when absent. */
function uniform(fields: Fields, field: string, max: number): number | undefined {
  const value = fields.raw(field);
  if (value === undefined || typeof value !== 'object') return fields.optionalInteger(field, { max });
  const list = Array.from(value as ArrayLike<unknown>);
  if (list.length > limits.layers || list.some((v) => v !== list[0])) {
    throw new UnsupportedModelError('layout', `${field} that differs between layers`, ['one value for all layers']);
  }
  return new Fields({ label: 'GGUF', get: () => list[0] }, field).optionalInteger('', { max });
}

function plainHeadDim(fields: Fields, hiddenSize: number, heads: number): number {
  const given = fields.optionalInteger('attention.key_length', { max: limits.headDim });
  const value = fields.optionalInteger('attention.value_length', { max: limits.headDim }) ?? given;
  const headDim = given ?? hiddenSize / heads;
  if (!Number.isInteger(headDim) || headDim % 2 !== 0) {
    throw fields.error(
      given === undefined ? 'attention.head_count' : 'attention.key_length',
      given ?? heads,
      'an even size of each head',
    );
  }
  if (value !== given) throw fields.error('attention.value_length', value, `the size of keys (${headDim})`);
  return headDim;
}

function rotatedDim(fields: Fields, headDim: number): number {
  const dim = fields.optionalInteger('rope.dimension_count', { max: headDim }) ?? headDim;
  if (dim % 2 !== 0) throw fields.error('rope.dimension_count', dim, 'an even number');
  return dim;
}

function vocabularySize(fields: Fields, tensors: GgufTensors): number {
  const rows = tensors.shapeOf('token_embd.weight')?.[0];
  const size = rows ?? fields.optionalInteger('vocab_size', { max: limits.vocabSize });
  if (size === undefined || size < 1 || size > limits.vocabSize) {
    throw fields.error('vocab_size', size, `1 to ${limits.vocabSize} rows of token_embd.weight`);
  }
  return size;
}

function eosIds(fields: Fields, vocabSize: number): readonly number[] {
  const ids = ['eos_token_id', 'eot_token_id', 'eom_token_id'].flatMap((name) => {
    const id = fields.optionalInteger(`tokenizer.ggml.${name}`, { min: 0, max: vocabSize - 1 });
    return id === undefined ? [] : [id];
  });
  return [...new Set(ids)];
}
