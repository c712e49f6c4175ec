import type { OpName } from './names.js';

/** What an operand may be. `kv` operands are mutated by `kv_write` and read by attention. */
export interface Operand {
  readonly name: string;
  readonly kind: 'f32' | 'i32' | 'weight' | 'kv';
  /** Shape letters, for people and for the shape rule's messages. `...` = any leading axes. */
  readonly shape: string;
  readonly optional?: boolean;
  /** Repeats n times (merged products): all repetitions of it stand together, in the order of the declaration. */
  readonly variadic?: boolean;
}

export interface OpDeclaration {
  readonly name: OpName;
  readonly summary: string;
  readonly inputs: readonly Operand[];
  readonly outputs: readonly Operand[];
  /** Attribute name -> what it is. All are required unless the text says "optional". */
  readonly attrs: Readonly<Record<string, string>>;
}

/**
 * The declarations. Letters: T tokens, S sequences, R logit rows, D model width, K inner, N outer, H heads, G KV heads,
 * E experts, k experts a token, I expert width, C latent width, V vocabulary, B block-table columns, L logprobs kept.
 *
 * Step inputs shared by the attention ops: `positions` i32 [T] (absolute, from 0); `seq_starts` i32 [S+1] (rows of sequence s are
 * seq_starts[s] .. seq_starts[s+1]-1, in ascending position); `block_tables` i32 [S, B] (row-major with row length B; key position p of
 * sequence s lives in slot block_tables[s][p / blockSize] * blockSize + p % blockSize); `slots` i32 [T] (where this step's K/V go, -1 = nowhere).
 */
export const opDeclarations: Readonly<Record<OpName, OpDeclaration>> = {
  embedding: {
    name: 'embedding',
    summary: 'y[t] = table[tokens[t]], dequantised to f32',
    inputs: [
      { name: 'tokens', kind: 'i32', shape: '[T]' },
      { name: 'table', kind: 'weight', shape: '[V, D]' },
    ],
    outputs: [{ name: 'y', kind: 'f32', shape: '[T, D]' }],
    attrs: {},
  },
  rms_norm: {
    name: 'rms_norm',
    summary: 'y = x / sqrt(mean(x^2) + eps) * weight, over the last axis',
    inputs: [
      { name: 'x', kind: 'f32', shape: '[..., D]' },
      { name: 'weight', kind: 'weight', shape: '[D]' },
    ],
    outputs: [{ name: 'y', kind: 'f32', shape: '[..., D]' }],
    attrs: { eps: 'number' },
  },
  add_rms_norm: {
    name: 'add_rms_norm',
    summary: 'sum = x + residual; y = rms_norm(sum, weight)',
    inputs: [
      { name: 'x', kind: 'f32', shape: '[..., D]' },
      { name: 'residual', kind: 'f32', shape: '[..., D]' },
      { name: 'weight', kind: 'weight', shape: '[D]' },
    ],
    outputs: [
      { name: 'sum', kind: 'f32', shape: '[..., D]' },
      { name: 'y', kind: 'f32', shape: '[..., D]' },
    ],
    attrs: { eps: 'number' },
  },
  linear: {
    name: 'linear',
    summary:
      'y_i[r] = x[r] W_i^T + bias_i for i = 1..n: products that share one activation (and its one quantisation in fast numerics). inputs = x, W_1..W_n, bias_1..bias_n (-1 = none)',
    inputs: [
      { name: 'x', kind: 'f32', shape: '[..., K]' },
      { name: 'weight', kind: 'weight', shape: '[N_i, K]', variadic: true },
      { name: 'bias', kind: 'weight', shape: '[N_i]', variadic: true, optional: true },
    ],
    outputs: [{ name: 'y', kind: 'f32', shape: '[..., N_i]', variadic: true }],
    attrs: { f32: 'boolean, optional: keep this product in f32 in every numerics mode (routers)' },
  },
  head_linear: {
    name: 'head_linear',
    summary: 'y[t, h] = x[t, h] W[h]^T: one matrix a head (absorbed MLA projections)',
    inputs: [
      { name: 'x', kind: 'f32', shape: '[T, H, K]' },
      { name: 'weight', kind: 'weight', shape: '[H, N, K]' },
    ],
    outputs: [{ name: 'y', kind: 'f32', shape: '[T, H, N]' }],
    attrs: {},
  },
  rope: {
    name: 'rope',
    summary:
      'rotates elements offset .. offset+2n-1 of every head by angle position * inv_freq[i] (n = length of inv_freq); the rest is copied. style half: i pairs with i+n; interleaved: 2i with 2i+1, result stays in place. cos and sin are multiplied by scale',
    inputs: [
      { name: 'x', kind: 'f32', shape: '[T, H, D]' },
      { name: 'positions', kind: 'i32', shape: '[T]' },
      { name: 'inv_freq', kind: 'f32', shape: '[n]' },
    ],
    outputs: [{ name: 'y', kind: 'f32', shape: '[T, H, D]' }],
    attrs: { style: "'half' | 'interleaved'", offset: 'number', scale: 'number' },
  },
  kv_write: {
    name: 'kv_write',
    summary:
      'cache[slots[t]] = concat(x_1[t], .., x_n[t]) converted to the cache dtype (nearest even); slot -1 writes nothing',
    inputs: [
      { name: 'slots', kind: 'i32', shape: '[T]' },
      { name: 'cache', kind: 'kv', shape: '[slots, width]' },
      { name: 'x', kind: 'f32', shape: '[T, width_i]', variadic: true },
    ],
    outputs: [],
    attrs: {},
  },
  attention: {
    name: 'attention',
    summary:
      'causal GQA over the paged cache: o[t, h] = softmax_j(scale q[t, h] . k[j, h / (H/G)]) v[j], 0 <= pos[t]-j (< window when window > 0). Chunks of 256 absolute positions, merged ascending (see docs/numerics)',
    inputs: [
      { name: 'q', kind: 'f32', shape: '[T, H, D]' },
      { name: 'k_cache', kind: 'kv', shape: '[slots, G*D]' },
      { name: 'v_cache', kind: 'kv', shape: '[slots, G*Dv]' },
      { name: 'positions', kind: 'i32', shape: '[T]' },
      { name: 'seq_starts', kind: 'i32', shape: '[S+1]' },
      { name: 'block_tables', kind: 'i32', shape: '[S, B]' },
    ],
    outputs: [{ name: 'o', kind: 'f32', shape: '[T, H, Dv]' }],
    attrs: { scale: 'number', kvHeads: 'number', window: 'number, 0 = none', blockSize: 'number' },
  },
  mla_attention: {
    name: 'mla_attention',
    summary:
      'absorbed MLA over the latent cache: score_j = scale (q_latent . c[j] + q_rope . r[j]), o[t, h] = softmax(score) c; cache row = [c (C) | r (Dr)]',
    inputs: [
      { name: 'q_latent', kind: 'f32', shape: '[T, H, C]' },
      { name: 'q_rope', kind: 'f32', shape: '[T, H, Dr]' },
      { name: 'cache', kind: 'kv', shape: '[slots, C+Dr]' },
      { name: 'positions', kind: 'i32', shape: '[T]' },
      { name: 'seq_starts', kind: 'i32', shape: '[S+1]' },
      { name: 'block_tables', kind: 'i32', shape: '[S, B]' },
    ],
    outputs: [{ name: 'o', kind: 'f32', shape: '[T, H, C]' }],
    attrs: { scale: 'number', blockSize: 'number' },
  },
  silu_mul: {
    name: 'silu_mul',
    summary: 'y = gate * sigmoid(gate) * up',
    inputs: [
      { name: 'gate', kind: 'f32', shape: '[..., I]' },
      { name: 'up', kind: 'f32', shape: '[..., I]' },
    ],
    outputs: [{ name: 'y', kind: 'f32', shape: '[..., I]' }],
    attrs: {},
  },
  add: {
    name: 'add',
    summary: 'y = a + b, equal shapes',
    inputs: [
      { name: 'a', kind: 'f32', shape: '[...]' },
      { name: 'b', kind: 'f32', shape: '[...]' },
    ],
    outputs: [{ name: 'y', kind: 'f32', shape: '[...]' }],
    attrs: {},
  },
  sigmoid_mul: {
    name: 'sigmoid_mul',
    summary: 'y[t] = x[t] * sigmoid(gate[t][0])',
    inputs: [
      { name: 'x', kind: 'f32', shape: '[T, D]' },
      { name: 'gate', kind: 'f32', shape: '[T, 1]' },
    ],
    outputs: [{ name: 'y', kind: 'f32', shape: '[T, D]' }],
    attrs: {},
  },
  slice: {
    name: 'slice',
    summary: 'y = x[..., start : start+length] of the last axis (a copy)',
    inputs: [{ name: 'x', kind: 'f32', shape: '[..., D]' }],
    outputs: [{ name: 'y', kind: 'f32', shape: '[..., length]' }],
    attrs: { start: 'number', length: 'number' },
  },
  gather_rows: {
    name: 'gather_rows',
    summary: 'y[r] = x[rows[r]]; a row may appear more than once',
    inputs: [
      { name: 'x', kind: 'f32', shape: '[T, D]' },
      { name: 'rows', kind: 'i32', shape: '[R]' },
    ],
    outputs: [{ name: 'y', kind: 'f32', shape: '[R, D]' }],
    attrs: {},
  },
  moe_route: {
    name: 'moe_route',
    summary:
      'chooses topK experts a token. score = softmax or sigmoid of logits (f32); choice = score + bias; with nGroup > 1 only the topkGroup groups of the highest group score (max of choice, or sum of its two best) compete; weights = unbiased scores of the chosen, divided by (their sum + 1e-20) when normalize, times scale. Order: descending choice, ties to the lowest id',
    inputs: [
      { name: 'logits', kind: 'f32', shape: '[T, E]' },
      { name: 'bias', kind: 'weight', shape: '[E]', optional: true },
    ],
    outputs: [
      { name: 'ids', kind: 'i32', shape: '[T, k]' },
      { name: 'weights', kind: 'f32', shape: '[T, k]' },
    ],
    attrs: {
      scoring: "'softmax' | 'sigmoid'",
      topK: 'number',
      nGroup: 'number, 1 = no groups',
      topkGroup: 'number',
      groupScore: "'max' | 'top2sum'",
      normalize: 'boolean',
      scale: 'number',
    },
  },
  moe_mlp: {
    name: 'moe_mlp',
    summary:
      'y[t] = sum over j (in the order of ids) of weights[t,j] * down[e]( silu(gate[e] x[t]) * (up[e] x[t]) ), e = ids[t,j]',
    inputs: [
      { name: 'x', kind: 'f32', shape: '[T, D]' },
      { name: 'ids', kind: 'i32', shape: '[T, k]' },
      { name: 'weights', kind: 'f32', shape: '[T, k]' },
      { name: 'gate', kind: 'weight', shape: '[E, I, D]' },
      { name: 'up', kind: 'weight', shape: '[E, I, D]' },
      { name: 'down', kind: 'weight', shape: '[E, D, I]' },
    ],
    outputs: [{ name: 'y', kind: 'f32', shape: '[T, D]' }],
    attrs: {},
  },
  sample: {
    name: 'sample',
    summary:
      'the sampler chain and the Gumbel-max draw (see sampling.ts for the packed parameters), and log-softmax of the raw logits for the chosen and the L best tokens',
    inputs: [
      { name: 'logits', kind: 'f32', shape: '[R, V]' },
      { name: 'params_f32', kind: 'f32', shape: '[R, 16]' },
      { name: 'params_i32', kind: 'i32', shape: '[R, 16]' },
      { name: 'penalty_starts', kind: 'i32', shape: '[R+1] ragged' },
      { name: 'penalty_ids', kind: 'i32', shape: 'ragged' },
      { name: 'penalty_counts', kind: 'i32', shape: 'ragged' },
      { name: 'bias_starts', kind: 'i32', shape: '[R+1] ragged' },
      { name: 'bias_ids', kind: 'i32', shape: 'ragged' },
      { name: 'bias_values', kind: 'f32', shape: 'ragged' },
    ],
    outputs: [
      { name: 'tokens', kind: 'i32', shape: '[R]' },
      { name: 'status', kind: 'i32', shape: '[R]' },
      { name: 'logprobs', kind: 'f32', shape: '[R]' },
      { name: 'top_ids', kind: 'i32', shape: '[R, L]' },
      { name: 'top_logprobs', kind: 'f32', shape: '[R, L]' },
    ],
    attrs: { topLogprobs: 'number: L, the most that any request may ask for' },
  },
};
