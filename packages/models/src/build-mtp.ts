import type { BuildOptions } from './build-options.js';
import { checkedBuildOptions } from './build-options.js';
import { emitOutputs, graphBuilder } from './build-model.js';
import { finishModel, type BuiltModel } from './built-model.js';
import { UnsupportedModelError } from './errors.js';
import { ModelBuilder } from './layers/model-builder.js';
import type { ModelDefinition } from './model-definition.js';
import { LayeredWeights } from './weights/layered-weights.js';
import { sliceColumns } from './weights/slice.js';
import type { WeightTensor } from './contract.js';

export interface MtpOptions extends BuildOptions {
  /** Which module, from 0. Default 0. */
  readonly module?: number;
  /** A file of its own that holds the module's tensors (and not the model's); shared tensors come from the model. */
  readonly sidecar?: ModelDefinition;
}

/**
 * Builds one step of a multi-token-prediction module (DeepSeek-V3, section 2.2), which predicts the token after next. Row t takes
 * `tokens[t]`, the token that follows position t, and `hidden[t]` f32 [T, D], the model's state at position t after its final norm
 * (output `hidden` of {@link buildModel}); positions, slots and block tables are those of position t. The module has KV tensors of its
 * own. Embedding and head are the model's where the checkpoint has no separate ones; they keep the model's weight names, so that one
 * weight set serves both programs.
 *
 * @throws UnsupportedModelError when the model has no such module
 */
export function buildMtp(definition: ModelDefinition, options: MtpOptions): BuiltModel {
  const { architecture } = definition;
  const { mtpLayers } = (options.sidecar ?? definition).config;
  const { config } = definition;
  const index = options.module ?? 0;
  if (!Number.isSafeInteger(index) || index < 0 || index >= mtpLayers) {
    throw new UnsupportedModelError(
      'multi-token-prediction module',
      String(index),
      mtpLayers === 0 ? ['none in this model'] : Array.from({ length: mtpLayers }, (_, i) => String(i)),
    );
  }
  const checked = checkedBuildOptions(config, options);
  const main = definition.openWeights();
  const source = options.sidecar === undefined ? main : new LayeredWeights(options.sidecar.openWeights(), main);
  const m = new ModelBuilder(
    graphBuilder(`${architecture.name}.mtp`, checked),
    config,
    source,
    checked.numerics,
    checked.maxSequenceLength,
  );
  const { g } = m;
  const { hiddenSize: width, vocabSize } = config;
  const layer = config.layers + index;
  const at = `model.layers.${layer}`;

  const own = (name: string, shared: string): string => (source.has(`${name}.weight`) ? name : shared);
  const head = own(`${at}.shared_head.head`, config.tieWordEmbeddings ? 'model.embed_tokens' : 'lm_head');
  const table = m.weight(`${own(`${at}.embed_tokens`, 'model.embed_tokens')}.weight`, [vocabSize, width]);
  const embedding = m.norm(g.embedding(g.input('tokens', 'i32', ['T']), table), `${at}.enorm`);
  const hidden = m.norm(g.input('hidden', 'f32', ['T', width]), `${at}.hnorm`);

  // eh_proj multiplies [embedding | hidden]: two products with its column halves, summed.
  const half = (suffix: string, start: number): WeightTensor =>
    sliceColumns(`${at}.eh_proj.${suffix}`, source.weight(`${at}.eh_proj.weight`, [width, 2 * width]), start, width);
  const fromEmbedding = m.derived(`${at}.eh_proj.embedding`, [width, width], () => half('embedding', 0));
  const fromHidden = m.derived(`${at}.eh_proj.hidden`, [width, width], () => half('hidden', width));
  const x = m.add(g.linear(embedding, fromEmbedding), g.linear(hidden, fromHidden));

  emitOutputs(
    m,
    g.scope(`layers.${layer}`, () => architecture.layer(m, x, layer)),
    `${at}.shared_head.norm`,
    head,
    checked,
  );
  return finishModel(m, checked, () => 0);
}
