import { dequantize, quantize, type GgmlTypeName } from '@dsi/quantization';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { writeAtomically } from '../atomic-file.js';
import { MalformedFieldError } from '../errors.js';
import type { ModelFiles, TensorInfo } from '../model-files.js';
import { openModel } from '../open-model.js';
import { safetensorsByteLength, writeSafetensors, type SafetensorsTensor } from '../safetensors/write.js';
import { configFromMetadata } from './config-from-metadata.js';
import { UnsupportedConversionError } from './errors.js';
import { llama3Scaling } from './llama3-scaling.js';
import { MetadataReader } from './metadata-reader.js';
import {
  expertPlaceholder,
  ggufArchitectures,
  ggufToHfName,
  isGgufArchitecture,
  type GgufArchitecture,
} from './names.js';
import { selectRows, splitHeads, stackRows, transposeBlocks, type RowSource } from './row-source.js';
import { tokenizerFromMetadata } from './tokenizer-from-metadata.js';

export interface ConvertToSafetensorsOptions {
  /** Type of the weights. Default BF16. The router's correction bias is always F32. */
  readonly dtype?: 'F32' | 'F16' | 'BF16';
  /** Weights go into files of at most this size (one larger tensor is a file of its own). Default 5 * 10^9. */
  readonly maxShardBytes?: number;
  readonly onProgress?: (progress: { readonly tensor: string; readonly done: number; readonly total: number }) => void;
  readonly signal?: AbortSignal;
}

const pieceWeights = 2 ** 22;
const torchNames = { F32: 'float32', F16: 'float16', BF16: 'bfloat16' } as const;

interface HfOutput {
  readonly name: string;
  readonly shape: readonly number[];
  readonly source: RowSource;
}

function ggufSource(model: ModelFiles, tensor: TensorInfo): RowSource {
  const cols = tensor.shape.at(-1) ?? 1;
  const rows = tensor.shape.slice(0, -1).reduce((a, b) => a * b, 1);
  const rowBytes = tensor.byteLength / Math.max(1, rows);
  return {
    rows,
    cols,
    read: async (begin, end) =>
      dequantize(
        tensor.dtype as GgmlTypeName,
        await model.readRange(tensor.name, begin * rowBytes, end * rowBytes),
        (end - begin) * cols,
      ),
  };
}

/** attn_k_b [heads, lora, nope] and attn_v_b [heads, v, lora] as kv_b_proj [heads * (nope + v), lora]. */
function joinLatent(model: ModelFiles, keys: TensorInfo, values: TensorInfo): { shape: number[]; source: RowSource } {
  const [heads = 0, lora = 0, nope = 0] = keys.shape;
  const [valueHeads, value = 0, valueLora] = values.shape;
  if (valueHeads !== heads || valueLora !== lora)
    throw new MalformedFieldError(`${keys.name} and ${values.name} do not fit together`, {
      file: values.file,
      field: `tensor ${values.name}`,
      value: values.shape.join(' x '),
      limit: `${heads} x v x ${lora}`,
    });
  const stacked = stackRows([transposeBlocks(ggufSource(model, keys), lora, 0, lora), ggufSource(model, values)]);
  const height = nope + value;
  const source = selectRows(stacked, heads * height, (r) => {
    const head = Math.floor(r / height);
    const row = r % height;
    return row < nope ? head * nope + row : heads * nope + head * value + (row - nope);
  });
  return { shape: [heads * height, lora], source };
}

function outputsOf(model: ModelFiles, arch: GgufArchitecture, headDim: number): HfOutput[] {
  const outputs: HfOutput[] = [];
  for (const tensor of model.tensors.values()) {
    const { name, shape } = tensor;
    if (name.startsWith('rope_') || name.endsWith('.attn_v_b.weight')) continue;
    if (name.endsWith('.attn_k_b.weight')) {
      const values = model.tensors.get(name.replace('attn_k_b', 'attn_v_b'));
      const target = ggufToHfName(arch, name.replace('attn_k_b', 'attn_kv_b'));
      if (values !== undefined && target !== undefined) {
        outputs.push({ name: target, ...joinLatent(model, tensor, values) });
        continue;
      }
    }
    const target = ggufToHfName(arch, name);
    if (target === undefined)
      throw new UnsupportedConversionError(`tensor ${name} has no Hugging Face name in ${arch}`, {
        file: tensor.file,
        field: `tensor ${name}`,
        value: name,
      });
    const source = ggufSource(model, tensor);
    if (target.includes(expertPlaceholder)) {
      const [experts = 0, rows = 0] = shape;
      for (let e = 0; e < experts; e++)
        outputs.push({
          name: target.replace(expertPlaceholder, String(e)),
          shape: shape.slice(1),
          source: selectRows(source, rows, (r) => e * rows + r),
        });
    } else if (arch === 'llama' && /\.attn_[qk]\.weight$/.test(name))
      outputs.push({ name: target, shape, source: selectRows(source, source.rows, splitHeads(headDim)) });
    else if (arch === 'llama' && /\.attn_[qk]\.bias$/.test(name)) {
      const order = splitHeads(headDim);
      const read = async (begin: number, end: number): Promise<Float32Array> => {
        const values = await source.read(begin, end);
        return values.map((_, i) => values[order(i)]!);
      };
      outputs.push({ name: target, shape, source: { ...source, read } });
    } else
      outputs.push({ name: target, shape: name.includes('ffn_gate_inp_shexp') ? [1, shape.at(-1)!] : shape, source });
  }
  return outputs;
}

async function* pieces(
  output: HfOutput,
  dtype: GgmlTypeName,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  const { rows, cols } = output.source;
  const step = Math.max(1, Math.floor(pieceWeights / Math.max(1, cols)));
  for (let row = 0; row < rows; row += step) {
    signal?.throwIfAborted();
    yield quantize(dtype, await output.source.read(row, Math.min(rows, row + step)), cols);
  }
}

async function writeJson(path: string, value: unknown): Promise<void> {
  await writeAtomically(path, (sink) => sink.write(Buffer.from(`${JSON.stringify(value, undefined, 2)}\n`)));
}

/** Groups tensors, in order, into files of at most `limit` bytes. */
function intoShards(tensors: readonly SafetensorsTensor[], limit: number, file: string): SafetensorsTensor[][] {
  const shards: SafetensorsTensor[][] = [[]];
  let size = 0;
  for (const tensor of tensors) {
    const bytes = safetensorsByteLength(tensor, file);
    if (size > 0 && size + bytes > limit) {
      shards.push([]);
      size = 0;
    }
    shards.at(-1)!.push(tensor);
    size += bytes;
  }
  return shards;
}

/**
 * Converts a GGUF model to a Hugging Face directory: safetensors with the Hugging Face names and layouts (experts
 * apart, RoPE rows split again, kv_b_proj joined), config.json, and for byte-level BPE vocabularies tokenizer.json and
 * tokenizer_config.json. Quantised weights are dequantised.
 *
 * @returns warnings about what the GGUF file does not say
 * @throws UnsupportedConversionError for an architecture or tensor that is not known
 */
export async function convertToSafetensors(
  ggufPath: string,
  outDirectory: string,
  options: ConvertToSafetensorsOptions = {},
): Promise<{ readonly warnings: readonly string[] }> {
  const model = await openModel(ggufPath);
  try {
    const arch = model.metadata.get('general.architecture');
    if (model.kind !== 'gguf' || typeof arch !== 'string' || !isGgufArchitecture(arch))
      throw new UnsupportedConversionError(`architecture ${String(arch)} is not converted`, {
        file: model.path,
        field: 'general.architecture',
        value: String(arch),
        limit: ggufArchitectures.join(', '),
      });
    const warnings: string[] = [];
    const m = new MetadataReader(model.metadata, arch, model.path);
    const width = m.number('embedding_length');
    const headDim = m.optionalNumber('attention.key_length') ?? width / m.number('attention.head_count');
    const outputs = outputsOf(model, arch, headDim);
    const dtype = options.dtype ?? 'BF16';
    const rope = await llama3Scaling(model, m, warnings);
    const config = configFromMetadata(
      arch,
      m,
      m.optionalNumber('vocab_size') ?? model.tensors.get('token_embd.weight')?.shape[0] ?? 0,
      !model.tensors.has('output.weight'),
      model.tensors.has('blk.0.attn_q.bias'),
      rope,
      torchNames[dtype],
    );

    await mkdir(outDirectory, { recursive: true });
    let done = 0;
    const tensors = outputs.map((output): SafetensorsTensor => {
      const type = output.name.endsWith('e_score_correction_bias') ? 'F32' : dtype;
      const data = () => {
        options.onProgress?.({ tensor: output.name, done: done++, total: outputs.length });
        return pieces(output, type, options.signal);
      };
      return { name: output.name, dtype: type, shape: output.shape, data };
    });
    const shards = intoShards(tensors, options.maxShardBytes ?? 5e9, outDirectory);
    const nameOf = (i: number): string =>
      shards.length === 1
        ? 'model.safetensors'
        : `model-${String(i + 1).padStart(5, '0')}-of-${String(shards.length).padStart(5, '0')}.safetensors`;
    for (const [i, shard] of shards.entries())
      await writeSafetensors(join(outDirectory, nameOf(i)), { tensors: shard, metadata: { format: 'pt' } });
    if (shards.length > 1)
      await writeJson(join(outDirectory, 'model.safetensors.index.json'), {
        metadata: { total_size: tensors.reduce((sum, t) => sum + safetensorsByteLength(t, outDirectory), 0) },
        weight_map: Object.fromEntries(shards.flatMap((shard, i) => shard.map((t) => [t.name, nameOf(i)]))),
      });
    await writeJson(join(outDirectory, 'config.json'), config);
    const tokenizer = tokenizerFromMetadata(model.metadata);
    if (tokenizer === undefined)
      warnings.push('the vocabulary is no byte-level BPE that is known: tokenizer.json is not written');
    else {
      await writeJson(join(outDirectory, 'tokenizer.json'), tokenizer.tokenizer);
      await writeJson(join(outDirectory, 'tokenizer_config.json'), tokenizer.config);
    }
    return { warnings };
  } finally {
    await model.close();
  }
}
