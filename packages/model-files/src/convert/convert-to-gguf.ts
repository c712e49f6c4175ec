import { formatByName, quantize, type GgmlTypeName } from '@dsi/quantization';
import { basename, join } from 'node:path';
import { MalformedFieldError, ModelNotFoundError } from '../errors.js';
import { gguf } from '../gguf/fields.js';
import type { GgufField } from '../gguf/value.js';
import { writeGguf, type GgufTensor } from '../gguf/write.js';
import type { ModelFiles } from '../model-files.js';
import { openModel } from '../open-model.js';
import { ModelConfig } from './config.js';
import { hfTensors, type HfTensor } from './hf-tensors.js';
import { readHyperparameters, type Hyperparameters } from './hyperparameters.js';
import { planTensors, type PlannedTensor } from './plan.js';
import {
  fittingType,
  PresetTypes,
  presetFileType,
  quantizationPresets,
  staysF32,
  type QuantizationPreset,
} from './presets.js';
import { tokenizerFields } from './tokenizer-fields.js';

/** What a type rule may look at. */
export interface TensorToConvert {
  /** GGUF name. */
  readonly name: string;
  /** Row-major, outermost first. */
  readonly shape: readonly number[];
  readonly layer?: number;
  /** dtype of the Hugging Face tensor. */
  readonly storage: string;
}

export interface ConvertProgress {
  readonly tensor: string;
  readonly type: GgmlTypeName;
  /** Weights done and in total, over all files written. */
  readonly doneWeights: number;
  readonly totalWeights: number;
}

export interface ConvertToGgufOptions {
  /**
   * A mix by llama.cpp's name, or a rule for each matrix. Norms, biases, routers and other small tensors are always
   * F32. A type whose blocks do not divide a row gives way to one that does, as in llama.cpp.
   */
  readonly types: QuantizationPreset | ((tensor: TensorToConvert) => GgmlTypeName);
  /**
   * Importance of the columns of each matrix by GGUF name: [K], or [E * K] for stacked experts. Matrices without an
   * entry are quantised without.
   */
  readonly importance?: ReadonlyMap<string, Float32Array>;
  readonly onProgress?: (progress: ConvertProgress) => void;
  /** Maps a checkpoint's own tensor names to the standard ones. */
  readonly nameOverride?: (name: string) => string;
  /** general.name; the directory's name by default. */
  readonly name?: string;
  /**
   * Multi-token-prediction layers: `include` appends them to the file as llama.cpp reads them (nextn_predict_layers),
   * `sidecar` writes them to `NAME.mtp.gguf`, `skip` leaves them out. Default `include`.
   */
  readonly mtp?: 'include' | 'sidecar' | 'skip';
  /** tokenizer.ggml.pre, for a byte-level pre-tokenizer that is not recognised. */
  readonly preTokenizer?: string;
  readonly signal?: AbortSignal;
}

export interface ConvertResult {
  readonly path: string;
  /** The sidecar, if one was written. */
  readonly mtpPath?: string;
  /** Type of each tensor, over all files written. */
  readonly types: ReadonlyMap<string, GgmlTypeName>;
  /** What the GGUF file cannot say about the model, or llama.cpp does differently. */
  readonly warnings: readonly string[];
}

function weightsOf(tensor: PlannedTensor): number {
  return tensor.source.rows * tensor.source.cols;
}

/** Weights that are dequantised and quantised in one piece. */
const pieceWeights = 2 ** 22;

function generalFields(model: Hyperparameters, name: string): Map<string, GgufField> {
  return new Map<string, GgufField>([
    ['general.architecture', gguf.string(model.arch)],
    ['general.type', gguf.string('model')],
    ['general.name', gguf.string(name)],
    ['general.quantization_version', gguf.uint32(2)],
  ]);
}

/** A model without tokenizer.json still loads: it takes and gives token ids only. */
async function vocabularyFields(
  model: ModelFiles,
  directory: string,
  vocabSize: number,
  preTokenizer: string | undefined,
): Promise<Map<string, GgufField>> {
  const tokenizer = await model.tokenizerJson?.();
  if (tokenizer === undefined) return new Map([['tokenizer.ggml.model', gguf.string('none')]]);
  return tokenizerFields({
    tokenizer,
    tokenizerConfig: (await model.tokenizerConfig?.()) ?? {},
    config: model.config ?? {},
    chatTemplate: await model.chatTemplate?.(),
    vocabSize,
    preTokenizer,
    file: join(directory, 'tokenizer.json'),
  });
}

function chooseTypes(
  plan: readonly PlannedTensor[],
  model: Hyperparameters,
  options: ConvertToGgufOptions,
): Map<string, GgmlTypeName> {
  const { types } = options;
  if (typeof types === 'string') {
    const preset = new PresetTypes(types, model, plan, options.importance !== undefined);
    return new Map(plan.map((tensor) => [tensor.name, preset.typeOf(tensor)]));
  }
  return new Map(
    plan.map((tensor) => {
      if (staysF32(tensor)) return [tensor.name, 'F32'];
      return [tensor.name, fittingType(formatByName(types(tensor)).name, tensor.shape.at(-1)!)];
    }),
  );
}

function importanceOf(tensor: PlannedTensor, importance: Float32Array | undefined, file: string) {
  const { cols, rows } = tensor.source;
  if (importance === undefined) return undefined;
  const slices = importance.length / cols;
  if (slices !== 1 && slices !== (tensor.shape.length === 3 ? tensor.shape[0] : 1))
    throw new MalformedFieldError(`importance of ${tensor.name} has ${importance.length} numbers, rows have ${cols}`, {
      file,
      field: `importance ${tensor.name}`,
      value: importance.length,
      limit: tensor.shape.length === 3 ? `${cols} or ${tensor.shape[0]! * cols}` : cols,
    });
  const sliceRows = rows / slices;
  return { sliceRows, at: (row: number) => importance.subarray(Math.floor(row / sliceRows) * cols).subarray(0, cols) };
}

/** Reads, converts and yields a tensor piece by piece; pieces do not cross from one expert's importance to the next. */
async function* convertPieces(
  tensor: PlannedTensor,
  type: GgmlTypeName,
  options: ConvertToGgufOptions,
  file: string,
  onPiece: (weights: number) => void,
): AsyncGenerator<Uint8Array> {
  const { source } = tensor;
  const importance = importanceOf(tensor, options.importance?.get(tensor.name), file);
  const step = Math.max(1, Math.floor(pieceWeights / Math.max(1, source.cols)));
  for (let row = 0; row < source.rows;) {
    options.signal?.throwIfAborted();
    const sliceEnd =
      importance === undefined ? source.rows : (Math.floor(row / importance.sliceRows) + 1) * importance.sliceRows;
    const end = Math.min(row + step, sliceEnd);
    const values = await source.read(row, end);
    yield quantize(type, values, source.cols, importance && { importance: importance.at(row) });
    onPiece(values.length);
    row = end;
  }
}

interface Written {
  readonly path: string;
  readonly plan: readonly PlannedTensor[];
  readonly metadata: ReadonlyMap<string, GgufField>;
}

/** Splits off the MTP layers as the options say, and adjusts the layer counts that the metadata gives. */
function arrangeFiles(
  outPath: string,
  plan: readonly PlannedTensor[],
  model: Hyperparameters,
  base: ReadonlyMap<string, GgufField>,
  vocabulary: ReadonlyMap<string, GgufField>,
  mtp: 'include' | 'sidecar' | 'skip',
): Written[] {
  const main = plan.filter((t) => (t.layer ?? 0) < model.layers);
  const next = plan.filter((t) => (t.layer ?? 0) >= model.layers);
  const metadata = new Map([...base, ...model.fields, ...vocabulary]);
  const withNext = new Map<string, GgufField>([
    [`${model.arch}.block_count`, gguf.uint32(model.layers + model.nextnLayers)],
    [`${model.arch}.nextn_predict_layers`, gguf.uint32(model.nextnLayers)],
  ]);
  if (next.length === 0 || mtp === 'skip') return [{ path: outPath, plan: main, metadata }];
  if (mtp === 'include') return [{ path: outPath, plan, metadata: new Map([...metadata, ...withNext]) }];
  const sidecar = outPath.replace(/(\.gguf)?$/, '.mtp.gguf');
  return [
    { path: outPath, plan: main, metadata },
    { path: sidecar, plan: next, metadata: new Map([...base, ...model.fields, ...withNext]) },
  ];
}

function checkComplete(model: Hyperparameters, plan: readonly PlannedTensor[], file: string): void {
  const names = new Set(plan.map((t) => t.name));
  const needed = ['token_embd.weight', 'output_norm.weight'];
  for (let layer = 0; layer < model.layers; layer++)
    needed.push(`blk.${layer}.attn_norm.weight`, `blk.${layer}.ffn_norm.weight`);
  if (!model.tied) needed.push('output.weight');
  for (const name of needed)
    if (!names.has(name))
      throw new MalformedFieldError(`the checkpoint has no tensor for ${name}`, {
        file,
        field: `tensor ${name}`,
        limit: `${model.layers} layers`,
      });
}

/**
 * Converts a Hugging Face model (llama, mistral, mixtral, qwen2, qwen2_moe, qwen3, qwen3_moe, phi3, deepseek_v2,
 * deepseek_v3; plain, FP8, GPTQ or AWQ weights) to a GGUF file with llama.cpp's names and metadata. Holds a few
 * million weights in memory at a time; the file appears complete or not at all.
 *
 * @throws UnsupportedConversionError, MalformedFieldError and other ModelFileErrors, QuantizationError
 */
export async function convertToGguf(
  hfDirectory: string,
  outPath: string,
  options: ConvertToGgufOptions,
): Promise<ConvertResult> {
  const files = await openModel(hfDirectory);
  try {
    const configFile = join(files.path, 'config.json');
    if (files.kind !== 'safetensors' || files.config === undefined)
      throw new ModelNotFoundError('a conversion needs a directory with config.json and safetensors', {
        file: files.path,
        field: 'config.json',
      });
    if (typeof options.types === 'string' && !quantizationPresets.includes(options.types))
      throw new MalformedFieldError(`unknown mix ${String(options.types)}`, {
        file: outPath,
        field: 'types',
        value: options.types,
        limit: quantizationPresets.join(', '),
      });
    const config = new ModelConfig(files.config, configFile);
    const model = readHyperparameters(config, configFile);
    const tensors: HfTensor[] = hfTensors(files);
    const plan = planTensors(model, tensors, files.path, options.nameOverride);
    checkComplete(model, plan, files.path);
    const base = generalFields(model, options.name ?? basename(files.path));
    const vocabulary = await vocabularyFields(files, files.path, config.size('vocab_size'), options.preTokenizer);
    const outputs = arrangeFiles(outPath, plan, model, base, vocabulary, options.mtp ?? 'include');

    const totalWeights = outputs.reduce((sum, o) => sum + o.plan.reduce((n, t) => n + weightsOf(t), 0), 0);
    let doneWeights = 0;
    const allTypes = new Map<string, GgmlTypeName>();
    for (const output of outputs) {
      const types = chooseTypes(output.plan, model, options);
      for (const [name, type] of types) allTypes.set(name, type);
      // A rule of one's own has no number; the type of most weights stands for it.
      const fileType =
        typeof options.types === 'string' ? presetFileType(options.types) : mostCommonFileType(output.plan, types);
      const metadata = new Map([...output.metadata, ['general.file_type', gguf.uint32(fileType)] as const]);
      const pending = output.plan.map((tensor): GgufTensor => {
        const type = types.get(tensor.name)!;
        const onPiece = (count: number): void => {
          doneWeights += count;
          options.onProgress?.({ tensor: tensor.name, type, doneWeights, totalWeights });
        };
        const data = () => convertPieces(tensor, type, options, files.path, onPiece);
        return { name: tensor.name, type, shape: tensor.shape, data };
      });
      await writeGguf(output.path, { metadata, tensors: pending });
    }
    const mtpPath = outputs[1]?.path;
    return { path: outPath, ...(mtpPath !== undefined && { mtpPath }), types: allTypes, warnings: model.warnings };
  } finally {
    await files.close();
  }
}

function mostCommonFileType(plan: readonly PlannedTensor[], types: ReadonlyMap<string, GgmlTypeName>): number {
  const count = new Map<GgmlTypeName, number>();
  for (const t of plan) {
    const type = types.get(t.name)!;
    count.set(type, (count.get(type) ?? 0) + weightsOf(t));
  }
  const [most] = [...count].reduce((a, b) => (b[1] > a[1] ? b : a), ['F32', -1] as [GgmlTypeName, number]);
  const preset = quantizationPresets.find((name) => name === most || name === `${most}_S`);
  return preset === undefined ? 0 : presetFileType(preset);
}
