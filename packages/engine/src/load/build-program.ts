import { compile } from '@dsi/graph';
import type { Program } from '@dsi/kernels';
import { buildModel, type BuiltModel, type ModelDefinition } from '@dsi/models';
import { maxLogprobs } from '../sampling/sampling-params.js';
import type { ResolvedEngineOptions } from './engine-options.js';

/** Bytes that one step's logits may take in the arena. */
const logitBytes = 64 * 2 ** 20;
const mostRows = 1024;

/** Rows of logits a launch has room for: every seat's, and more for prompt log-probabilities while they are cheap. */
export function logitRows(vocabSize: number, maxNumSeqs: number): number {
  return Math.max(maxNumSeqs, Math.min(mostRows, Math.floor(logitBytes / (4 * vocabSize))));
}

/** The program of a step: forward pass and sampling; with `captureLogits` also the raw logits as an output. */
export function buildProgram(
  definition: ModelDefinition,
  options: ResolvedEngineOptions,
  maxModelLen: number,
): { model: BuiltModel; program: Program } {
  const { maxNumBatchedTokens, maxNumSeqs, blockSize, numerics, kvCacheDtype, captureLogits } = options;
  const { vocabSize } = definition.config;
  const model = buildModel(definition, {
    numerics,
    maxDims: {
      T: maxNumBatchedTokens,
      S: maxNumSeqs,
      R: logitRows(vocabSize, maxNumSeqs),
      B: Math.ceil(maxModelLen / blockSize),
    },
    blockSize,
    maxSequenceLength: maxModelLen,
    outputs: 'sample',
    topLogprobs: Math.min(maxLogprobs, vocabSize),
    ...(kvCacheDtype === undefined ? {} : { kvDtype: kvCacheDtype }),
  });
  if (!captureLogits) return { model, program: model.program };
  const { graph } = model;
  const logits = graph.nodes.find((node) => node.op === 'sample')!.inputs[0]!;
  return { model, program: compile({ ...graph, outputs: { ...graph.outputs, logits } }).program };
}
