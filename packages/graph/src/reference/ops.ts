import type { OpName } from '@dsi/kernels';
import type { Call } from './call.js';
import { attention, kvWrite, mlaAttention } from './ops/attention.js';
import {
  add,
  addRmsNorm,
  embedding,
  gatherRows,
  rmsNorm,
  rope,
  sigmoidMul,
  siluMul,
  slice,
} from './ops/elementwise.js';
import { moeRoute } from './ops/moe-route.js';
import { headLinear, linear, moeMlp } from './ops/products.js';
import { sample } from './sampling/sample.js';

/** The reference of every op: reads its inputs, writes every element of its outputs. */
export const referenceOps: Readonly<Record<OpName, (call: Call) => void>> = {
  embedding,
  rms_norm: rmsNorm,
  add_rms_norm: addRmsNorm,
  linear,
  head_linear: headLinear,
  rope,
  kv_write: kvWrite,
  attention,
  mla_attention: mlaAttention,
  silu_mul: siluMul,
  add,
  sigmoid_mul: sigmoidMul,
  slice,
  gather_rows: gatherRows,
  moe_route: moeRoute,
  moe_mlp: moeMlp,
  sample,
};
