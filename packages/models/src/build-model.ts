import { GraphBuilder, type GraphValue } from '@dsi/graph';
import { checkedBuildOptions, type BuildOptions, type CheckedBuildOptions } from './build-options.js';
import { finishModel, type BuiltModel } from './built-model.js';
import { ModelBuilder } from './layers/model-builder.js';
import type { ModelDefinition } from './model-definition.js';

/**
 * Builds the program of one step of a model: embedding, layers, final norm, and logits or sampled tokens of the rows asked for.
 * Inputs: `tokens`, `positions`, `slots` i32 [T], `seq_starts` i32 [S+1], `block_tables` i32 [S, B], `rows` i32 [R], and the
 * sampler's. Outputs: `logits` f32 [R, V], or `tokens`, `status` i32 [R], `logprobs` f32 [R], `top_ids` i32, `top_logprobs` f32 [R, L];
 * with `hiddenStates` also `hidden` f32 [T, D]. Every tensor's shape is checked against the configuration; no tensor data is read.
 *
 * @throws WeightMissingError, WeightShapeError, WeightFormatError when the checkpoint does not fit its configuration
 * @throws BuildOptionError, GraphError for an option out of range
 */
export function buildModel(definition: ModelDefinition, options: BuildOptions): BuiltModel {
  const { architecture, config } = definition;
  const checked = checkedBuildOptions(config, options);
  const m = new ModelBuilder(
    graphBuilder(architecture.name, checked),
    config,
    definition.openWeights(),
    checked.numerics,
    checked.maxSequenceLength,
  );
  const table = m.weight('model.embed_tokens.weight', [config.vocabSize, config.hiddenSize]);
  let x = m.g.embedding(m.g.input('tokens', 'i32', ['T']), table);
  for (let layer = 0; layer < config.layers; layer++) {
    x = m.g.scope(`layers.${layer}`, () => architecture.layer(m, x, layer));
  }
  emitOutputs(m, x, 'model.norm', config.tieWordEmbeddings ? 'model.embed_tokens' : 'lm_head', checked);
  return finishModel(m, checked, (kv) => config.windows[Number(kv.split('.')[1])] ?? 0);
}

/** Final norm and head of the wanted rows; the norm comes after gathering unless all states are an output. */
export function emitOutputs(
  m: ModelBuilder,
  x: GraphValue,
  norm: string,
  head: string,
  options: CheckedBuildOptions,
): void {
  const { g } = m;
  let rows: GraphValue;
  if (options.hiddenStates) {
    const hidden = m.norm(x, norm);
    g.output('hidden', hidden);
    rows = g.gatherRows(hidden, g.step.rows);
  } else {
    rows = m.norm(g.gatherRows(x, g.step.rows), norm);
  }
  const logits = m.linear(rows, head, m.config.vocabSize);
  if (options.outputs === 'logits') {
    g.output('logits', logits);
    return;
  }
  const sample = g.sample(logits, { topLogprobs: options.topLogprobs });
  g.output('tokens', sample.tokens);
  g.output('status', sample.status);
  g.output('logprobs', sample.logprobs);
  g.output('top_ids', sample.topIds);
  g.output('top_logprobs', sample.topLogprobs);
}

export function graphBuilder(name: string, options: CheckedBuildOptions): GraphBuilder {
  const { numerics, maxDims, blockSize, kvDtype } = options;
  return new GraphBuilder(name, { numerics, maxDims, blockSize, kvDtype });
}
