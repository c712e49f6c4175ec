import { formatByName, type GgmlTypeName } from '@dsi/quantization';
import type { Hyperparameters } from './hyperparameters.js';
import type { PlannedTensor } from './plan.js';

/** Type of most tensors, and llama.cpp's number for the whole file's mix (general.file_type). */
interface Preset {
  readonly base: GgmlTypeName;
  readonly fileType: number;
}

const presets = {
  F32: { base: 'F32', fileType: 0 },
  F16: { base: 'F16', fileType: 1 },
  BF16: { base: 'BF16', fileType: 32 },
  Q8_0: { base: 'Q8_0', fileType: 7 },
  Q4_0: { base: 'Q4_0', fileType: 2 },
  Q4_1: { base: 'Q4_1', fileType: 3 },
  Q5_0: { base: 'Q5_0', fileType: 8 },
  Q5_1: { base: 'Q5_1', fileType: 9 },
  Q2_K: { base: 'Q2_K', fileType: 10 },
  Q2_K_S: { base: 'Q2_K', fileType: 21 },
  Q3_K_S: { base: 'Q3_K', fileType: 11 },
  Q3_K_M: { base: 'Q3_K', fileType: 12 },
  Q3_K_L: { base: 'Q3_K', fileType: 13 },
  Q4_K_S: { base: 'Q4_K', fileType: 14 },
  Q4_K_M: { base: 'Q4_K', fileType: 15 },
  Q5_K_S: { base: 'Q5_K', fileType: 16 },
  Q5_K_M: { base: 'Q5_K', fileType: 17 },
  Q6_K: { base: 'Q6_K', fileType: 18 },
  IQ4_NL: { base: 'IQ4_NL', fileType: 25 },
  IQ4_XS: { base: 'IQ4_XS', fileType: 30 },
  MXFP4_MOE: { base: 'MXFP4', fileType: 38 },
} as const satisfies Record<string, Preset>;

/** Names of whole-file mixes, as `llama-quantize` knows them. */
export type QuantizationPreset = keyof typeof presets;

export const quantizationPresets = Object.keys(presets) as QuantizationPreset[];

export function presetFileType(preset: QuantizationPreset): number {
  return presets[preset].fileType;
}

/** 1D tensors, norms, routers and everything that is no `.weight` stay in float32. */
export function staysF32(tensor: Pick<PlannedTensor, 'name' | 'shape'>): boolean {
  const { name, shape } = tensor;
  return (
    shape.length <= 1 ||
    !name.endsWith('.weight') ||
    name.endsWith('norm.weight') ||
    name.includes('ffn_gate_inp') ||
    name.startsWith('rope_')
  );
}

const fallbacks: Partial<Record<GgmlTypeName, GgmlTypeName>> = {
  IQ4_XS: 'IQ4_NL',
  Q2_K: 'Q4_0',
  Q3_K: 'Q4_0',
  TQ1_0: 'Q4_0',
  TQ2_0: 'Q4_0',
  Q4_K: 'Q5_0',
  Q5_K: 'Q5_1',
  Q6_K: 'Q8_0',
};

/** The type itself if rows of `cols` are whole blocks, else a type of smaller blocks, at last F16. */
export function fittingType(type: GgmlTypeName, cols: number): GgmlTypeName {
  if (cols % formatByName(type).blockSize === 0) return type;
  const smaller = fallbacks[type];
  return smaller !== undefined && cols % formatByName(smaller).blockSize === 0 ? smaller : 'F16';
}

/** First eighth, last eighth, and every third layer between get more bits in the medium mixes. */
function deservesMoreBits(index: number, count: number): boolean {
  const eighth = Math.floor(count / 8);
  return index < eighth || index >= Math.floor((7 * count) / 8) || (index - eighth) % 3 === 2;
}

type Category = 'output' | 'embedding' | 'value' | 'key' | 'attentionOutput' | 'down' | 'other';

function categoryOf(name: string): Category {
  if (name === 'output.weight') return 'output';
  if (name === 'token_embd.weight') return 'embedding';
  if (/attn_(qkv|kv_b|v)\.weight$/.test(name)) return 'value';
  if (name.endsWith('attn_k.weight')) return 'key';
  if (name.endsWith('attn_output.weight')) return 'attentionOutput';
  return name.includes('ffn_down') ? 'down' : 'other';
}

/**
 * llama.cpp's choice of types for a mix (llama_tensor_get_type, without the IQ1 to IQ3 mixes): which tensors of which
 * layers get more bits. Call it for the tensors in file order; it counts the layers as it goes.
 */
export class PresetTypes {
  private readonly base: GgmlTypeName;
  private readonly valueCount: number;
  private valueIndex = 0;
  private downIndex = 0;
  private readonly tied: boolean;
  /** Layers of the file, multi-token-prediction layers included. */
  private readonly layers: number;

  constructor(
    private readonly preset: QuantizationPreset,
    private readonly model: Hyperparameters,
    tensors: readonly PlannedTensor[],
    private readonly hasImportance: boolean,
  ) {
    this.base = presets[preset].base;
    this.valueCount = tensors.filter((t) => categoryOf(t.name) === 'value').length;
    this.layers = 1 + Math.max(0, ...tensors.map((t) => t.layer ?? 0));
    this.tied = !tensors.some((t) => t.name === 'output.weight');
  }

  typeOf(tensor: PlannedTensor): GgmlTypeName {
    if (staysF32(tensor)) return 'F32';
    const { base } = this;
    if (base === 'F32' || base === 'F16' || base === 'BF16') return base;
    const cols = tensor.shape.at(-1)!;
    return fittingType(this.mixed(tensor, categoryOf(tensor.name), cols), cols);
  }

  private mixed(tensor: PlannedTensor, category: Category, cols: number): GgmlTypeName {
    const { base, preset } = this;
    if (category === 'output' || (this.tied && category === 'embedding')) {
      if (preset === 'MXFP4_MOE' || cols % formatByName(base).blockSize !== 0 || base === 'Q8_0') return 'Q8_0';
      return 'Q6_K';
    }
    if (preset === 'MXFP4_MOE') return tensor.name.includes('_exps.') ? 'MXFP4' : 'Q8_0';
    switch (category) {
      case 'value':
        return this.valueType();
      case 'key':
        return this.model.experts === 8 ? 'Q8_0' : base;
      case 'down':
        return this.downType(tensor);
      case 'attentionOutput':
        return this.attentionOutputType();
      default:
        return base;
    }
  }

  private valueType(): GgmlTypeName {
    const { preset, model } = this;
    const index = this.valueIndex++;
    const grouped = model.heads / model.kvHeads >= 4;
    let type = this.base;
    if (preset === 'Q2_K') type = grouped ? 'Q4_K' : 'Q3_K';
    else if (preset === 'Q2_K_S') type = grouped ? 'Q4_K' : type;
    else if (preset === 'Q3_K_M') type = index < 2 ? 'Q5_K' : 'Q4_K';
    else if (preset === 'Q3_K_L') type = 'Q5_K';
    else if (preset === 'IQ4_NL' || preset === 'IQ4_XS') type = grouped ? 'Q5_K' : type;
    else if (preset === 'Q4_K_M' || preset === 'Q5_K_M')
      type = deservesMoreBits(index, this.valueCount) ? 'Q6_K' : type;
    else if (preset === 'Q4_K_S') type = index < 4 ? 'Q5_K' : type;
    // 80-layer models share a value matrix among eight heads: it is small, and worth its bits.
    const large =
      model.layers === 80 && (model.arch === 'qwen2' || (model.arch === 'llama' && model.heads !== model.kvHeads));
    if (large && (type === 'Q3_K' || type === 'Q4_K')) type = 'Q5_K';
    return model.experts === 8 ? 'Q8_0' : type;
  }

  private downType(tensor: PlannedTensor): GgmlTypeName {
    const { base, preset, model } = this;
    // Models with experts count by the layer's number, others by the order of the file.
    const index = model.experts > 1 ? tensor.layer! : this.downIndex;
    this.downIndex++;
    const early = index < Math.floor(this.layers / 8);
    switch (preset) {
      case 'Q2_K':
        return 'Q3_K';
      case 'Q2_K_S':
        return early ? 'Q4_K' : base;
      case 'Q3_K_M':
        return index < Math.floor(this.layers / 16) ? 'Q5_K' : 'Q4_K';
      case 'Q3_K_L':
        return 'Q5_K';
      case 'Q4_K_M':
      case 'Q5_K_M':
        return deservesMoreBits(index, this.layers) ? 'Q6_K' : base;
      case 'Q4_K_S':
        return early ? 'Q5_K' : base;
      case 'IQ4_NL':
      case 'IQ4_XS':
        return early && !this.hasImportance ? 'Q5_K' : base;
      case 'Q4_0':
        return early && this.hasImportance ? 'Q4_1' : base;
      case 'Q5_0':
        return early && this.hasImportance ? 'Q5_1' : base;
      default:
        return base;
    }
  }

  private attentionOutputType(): GgmlTypeName {
    const { base, preset } = this;
    if (this.model.experts === 8)
      return (['Q2_K', 'Q3_K_S', 'Q3_K_M', 'Q4_K_S', 'Q4_K_M', 'IQ4_NL', 'IQ4_XS'] as string[]).includes(preset)
        ? 'Q5_K'
        : base;
    if (preset === 'Q2_K') return 'Q3_K';
    if (preset === 'Q3_K_M') return 'Q4_K';
    return preset === 'Q3_K_L' ? 'Q5_K' : base;
  }
}
