import { MalformedFieldError } from '../errors.js';
import { UnsupportedConversionError } from './errors.js';
import type { HfTensor } from './hf-tensors.js';
import type { Hyperparameters } from './hyperparameters.js';
import { hfToGgufName } from './names.js';
import { interleaveHeads, rowOfValues, selectRows, stackRows, transposeBlocks, type RowSource } from './row-source.js';

/** One tensor of the GGUF file to be, with its values as rows. */
export interface PlannedTensor {
  readonly name: string;
  /** Row-major, outermost first. */
  readonly shape: readonly number[];
  readonly source: RowSource;
  /** Layer number, if it belongs to one. */
  readonly layer?: number;
  /** dtype of the Hugging Face tensor(s) behind it. */
  readonly storage: string;
}

function layerOf(name: string): { layer?: number } {
  const match = /^blk\.(\d+)\./.exec(name);
  return match === null ? {} : { layer: Number(match[1]) };
}

/** kv_b_proj [heads * (nope + v), lora] as the two tensors that absorbed MLA multiplies with. */
function splitLatent(name: string, tensor: HfTensor, model: Hyperparameters, file: string): PlannedTensor[] {
  const { nope, value } = model.latent!;
  const { rows, cols } = tensor.source;
  if (rows !== model.heads * (nope + value))
    throw new MalformedFieldError(`${tensor.name} has ${rows} rows, ${model.heads} heads need ${nope + value} each`, {
      file,
      field: `tensor ${tensor.name}`,
      value: rows,
      limit: model.heads * (nope + value),
    });
  const part = (stem: string) => name.replace('attn_kv_b', stem);
  const common = { ...layerOf(name), storage: tensor.storage };
  return [
    {
      name: part('attn_k_b'),
      shape: [model.heads, cols, nope],
      source: transposeBlocks(tensor.source, nope + value, 0, nope),
      ...common,
    },
    {
      name: part('attn_v_b'),
      shape: [model.heads, value, cols],
      source: selectRows(
        tensor.source,
        model.heads * value,
        (r) => Math.floor(r / value) * (nope + value) + nope + (r % value),
      ),
      ...common,
    },
  ];
}

/** llama's q and k rows (and biases) in the order of adjacent-pair RoPE. */
function interleaved(tensor: HfTensor, headDim: number, file: string): RowSource {
  const bias = tensor.shape.length === 1;
  const rows = bias ? tensor.shape[0]! : tensor.source.rows;
  if (rows % headDim !== 0 || headDim % 2 !== 0)
    throw new MalformedFieldError(`${tensor.name} has ${rows} rows, no multiple of the head size ${headDim}`, {
      file,
      field: `tensor ${tensor.name}`,
      value: rows,
      limit: headDim,
    });
  const order = interleaveHeads(headDim);
  if (!bias) return selectRows(tensor.source, rows, order);
  return {
    rows: 1,
    cols: rows,
    read: async (begin, end) => {
      const values = await tensor.source.read(begin, end);
      return values.map((_, i) => values[order(i)]!);
    },
  };
}

function stackedExperts(
  name: string,
  parts: ReadonlyMap<number, HfTensor>,
  model: Hyperparameters,
  file: string,
): PlannedTensor {
  const sources = Array.from({ length: model.experts }, (_, e) => {
    const tensor = parts.get(e);
    const first = parts.values().next().value!;
    if (tensor === undefined || tensor.shape.join() !== first.shape.join())
      throw new MalformedFieldError(
        tensor === undefined
          ? `${name}: expert ${e} of ${model.experts} is missing`
          : `${tensor.name} has shape [${tensor.shape.join(', ')}], other experts [${first.shape.join(', ')}]`,
        { file, field: `tensor ${name}`, value: e, limit: model.experts },
      );
    return tensor;
  });
  if (parts.size !== model.experts)
    throw new MalformedFieldError(`${name} has ${parts.size} experts, config.json says ${model.experts}`, {
      file,
      field: `tensor ${name}`,
      value: parts.size,
      limit: model.experts,
    });
  return {
    name,
    shape: [model.experts, ...sources[0]!.shape],
    source: stackRows(sources.map((t) => t.source)),
    ...layerOf(name),
    storage: sources[0]!.storage,
  };
}

/** Embeddings, then layers in order, then the output's norm and matrix. */
function place(tensor: PlannedTensor): number {
  if (tensor.layer !== undefined) return tensor.layer;
  return tensor.name.startsWith('token_embd') || tensor.name.startsWith('rope_') ? -1 : Infinity;
}

/**
 * Decides the GGUF tensors of a model: names, shapes, and how their values come from the Hugging Face tensors.
 *
 * @param rename maps a Hugging Face name to the standard one, for checkpoints with names of their own
 * @throws UnsupportedConversionError for a tensor that the architecture does not have
 */
export function planTensors(
  model: Hyperparameters,
  tensors: readonly HfTensor[],
  file: string,
  rename: (name: string) => string = (name) => name,
): PlannedTensor[] {
  const planned: PlannedTensor[] = [];
  const experts = new Map<string, Map<number, HfTensor>>();
  for (const tensor of tensors) {
    const target = hfToGgufName(model.arch, rename(tensor.name));
    if (target === undefined)
      throw new UnsupportedConversionError(`tensor ${tensor.name} has no place in a ${model.arch} GGUF file`, {
        file,
        field: `tensor ${tensor.name}`,
        value: tensor.name,
        limit: 'the names of the architecture; nameOverride can map others to them',
      });
    const { name, expert } = target;
    if (expert !== undefined) {
      const parts = experts.get(name) ?? new Map<number, HfTensor>();
      experts.set(name, parts.set(expert, tensor));
      continue;
    }
    if (name === 'output.weight' && model.tied) continue;
    if (name.includes('attn_kv_b')) {
      planned.push(...splitLatent(name, tensor, model, file));
      continue;
    }
    const rotated = model.arch === 'llama' && /\.attn_[qk]\.(weight|bias)$/.test(name);
    planned.push({
      name,
      shape: tensor.shape,
      source: rotated ? interleaved(tensor, model.headDim, file) : tensor.source,
      ...layerOf(name),
      storage: tensor.storage,
    });
  }
  for (const [name, parts] of experts) planned.push(stackedExperts(name, parts, model, file));
  const extra = (name: string, values: Float32Array | undefined): void => {
    if (values !== undefined)
      planned.push({ name, shape: [values.length], source: rowOfValues(values), storage: 'F32' });
  };
  extra('rope_freqs.weight', model.ropeFactors);
  extra('rope_factors_long.weight', model.longRope?.long);
  extra('rope_factors_short.weight', model.longRope?.short);
  return planned.toSorted((a, b) => place(a) - place(b) || (a.name < b.name ? -1 : 1));
}
