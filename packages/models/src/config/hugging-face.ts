import { UnsupportedModelError } from '../errors.js';
import type { Fields } from './fields.js';
import { limits } from './limits.js';
import type { BiasPresence, MlaConfig, ModelConfig, MoeConfig } from './model-config.js';
import { quantizationFromHuggingFace } from './quantization-config.js';
import { ropeFromHuggingFace, ropeReach, type RopeConfig } from './rope-config.js';

/** Where an architecture differs from the common decoder when its config.json is read. */
export interface HuggingFaceTraits {
  readonly architecture: string;
  readonly qkvBias?: BiasPresence;
  readonly outputBias?: BiasPresence;
  readonly mlpBias?: BiasPresence;
  readonly qkNorm?: boolean;
  readonly ropeStyle?: RopeConfig['style'];
  /** Visible tokens a layer; default: no window. */
  readonly windows?: (fields: Fields, layers: number) => readonly number[];
  readonly mla?: MlaConfig;
  readonly moe?: (fields: Fields, layers: number) => MoeConfig | undefined;
  readonly mtpLayers?: number;
}

/** Reads the fields that every decoder shares; throws ModelConfigError or UnsupportedModelError. */
export function decoderFromHuggingFace(fields: Fields, traits: HuggingFaceTraits): ModelConfig {
  const activation = fields.optionalString('hidden_act') ?? 'silu';
  if (activation !== 'silu' && activation !== 'swish') {
    throw new UnsupportedModelError('activation', activation, ['silu']);
  }
  const hiddenSize = fields.integer('hidden_size', { max: limits.hiddenSize });
  const layers = fields.integer('num_hidden_layers', { max: limits.layers });
  const heads = fields.integer('num_attention_heads', { max: limits.heads });
  const kvHeads = fields.optionalInteger('num_key_value_heads', { max: heads }) ?? heads;
  if (heads % kvHeads !== 0)
    throw fields.error('num_key_value_heads', kvHeads, `a divisor of num_attention_heads (${heads})`);
  const { mla } = traits;
  const headDim = mla === undefined ? plainHeadDim(fields, hiddenSize, heads) : mla.qkNopeHeadDim + mla.qkRopeHeadDim;
  const maxPositions = fields.optionalInteger('max_position_embeddings', { max: limits.positions }) ?? 2048;
  const vocabSize = fields.integer('vocab_size', { max: limits.vocabSize });
  const rope = ropeFromHuggingFace(fields, {
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
    kvHeads: mla === undefined ? kvHeads : 1,
    headDim,
    intermediateSize: fields.integer('intermediate_size', { max: limits.intermediateSize }),
    vocabSize,
    maxPositions: ropeReach(rope.scaling, maxPositions),
    rmsNormEps: fields.optionalNumber('rms_norm_eps', { above: 0, max: 1 }) ?? 1e-6,
    tieWordEmbeddings: fields.boolean('tie_word_embeddings', false),
    qkvBias: traits.qkvBias ?? false,
    outputBias: traits.outputBias ?? false,
    mlpBias: traits.mlpBias ?? false,
    qkNorm: traits.qkNorm ?? false,
    windows: traits.windows?.(fields, layers) ?? Array.from({ length: layers }, () => 0),
    rope,
    mla,
    moe: traits.moe?.(fields, layers),
    mtpLayers: traits.mtpLayers ?? 0,
    bosTokenId: fields.optionalInteger('bos_token_id', { min: 0, max: vocabSize - 1 }),
    eosTokenIds: tokenIds(fields, 'eos_token_id', vocabSize),
    dtype: checkpointDtype(fields),
    quantization: quantizationFromHuggingFace(fields),
  };
}

/** Ids of a field that is one id or a list of ids. */
export function tokenIds(fields: Fields, field: string, vocabSize: number): readonly number[] {
  const value = fields.raw(field);
  if (value === undefined) return [];
  const range = { min: 0, max: vocabSize - 1 };
  if (!Array.isArray(value)) return [fields.integer(field, range)];
  if (value.length > limits.eosTokens) throw fields.error(field, value, `at most ${limits.eosTokens} token ids`);
  return [...new Set(fields.numbers(field, value.length, range))];
}

function plainHeadDim(fields: Fields, hiddenSize: number, heads: number): number {
  const given = fields.optionalInteger('head_dim', { max: limits.headDim });
  const headDim = given ?? hiddenSize / heads;
  if (!Number.isInteger(headDim) || headDim % 2 !== 0) {
    throw fields.error(
      given === undefined ? 'num_attention_heads' : 'head_dim',
      given ?? heads,
      'an even size of each head',
    );
  }
  return headDim;
}

function rotatedDim(fields: Fields, headDim: number): number {
  const factor =
    fields.object('rope_parameters')?.optionalNumber('partial_rotary_factor', { above: 0, max: 1 }) ??
    fields.optionalNumber('partial_rotary_factor', { above: 0, max: 1 }) ??
    1;
  const dim = Math.floor(headDim * factor);
  if (dim < 2 || dim % 2 !== 0)
    throw fields.error('partial_rotary_factor', factor, 'a share that gives an even number of rotated elements');
  return dim;
}

function checkpointDtype(fields: Fields): ModelConfig['dtype'] {
  const name = fields.optionalString('dtype') ?? fields.optionalString('torch_dtype') ?? 'bfloat16';
  switch (name.replace(/^torch\./, '')) {
    case 'float32':
      return 'f32';
    case 'float16':
      return 'f16';
    case 'bfloat16':
    case 'auto':
      return 'bf16';
    default:
      throw new UnsupportedModelError('dtype', name, ['float32', 'float16', 'bfloat16']);
  }
}

/** One window for all layers (mistral, mixtral, phi3), or as `layer_types` says. */
export function windowsOfAllLayers(fields: Fields, layers: number): readonly number[] {
  return windows(fields, layers, () => true);
}

/** Qwen: only with `use_sliding_window`, and only from layer `max_window_layers` on, unless `layer_types` says otherwise. */
export function windowsOfUpperLayers(fields: Fields, layers: number): readonly number[] {
  if (!fields.boolean('use_sliding_window', false)) return Array.from({ length: layers }, () => 0);
  const first = fields.optionalInteger('max_window_layers', { min: 0, max: limits.layers }) ?? 28;
  return windows(fields, layers, (layer) => layer >= first);
}

/** Qwen3-MoE: with `use_sliding_window` every layer has the window. */
export function windowsWhenEnabled(fields: Fields, layers: number): readonly number[] {
  return windows(fields, layers, () => fields.boolean('use_sliding_window', false));
}

function windows(fields: Fields, layers: number, byDefault: (layer: number) => boolean): readonly number[] {
  const size = fields.optionalInteger('sliding_window', { max: limits.positions }) ?? 0;
  const types = fields.raw('layer_types');
  if (types === undefined) return Array.from({ length: layers }, (_, i) => (byDefault(i) ? size : 0));
  if (!Array.isArray(types) || types.length !== layers)
    throw fields.error('layer_types', types, `an array of ${layers}`);
  return types.map((type: unknown, i) => {
    if (type === 'full_attention') return 0;
    if (type !== 'sliding_attention') {
      throw new UnsupportedModelError('layer type', String(type), ['full_attention', 'sliding_attention']);
    }
    if (size === 0) throw fields.error('sliding_window', undefined, `a size, since layer ${i} has sliding attention`);
    return size;
  });
}
