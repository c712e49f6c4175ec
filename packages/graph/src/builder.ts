import type { AttrValue, OpName, Shape } from '@dsi/kernels';
import type { AttentionAttrs, MoeRouteAttrs, RopeAttrs } from './build/attrs.js';
import { checkOptions, type GraphOptions } from './build/options.js';
import { StepInputs } from './build/step.js';
import { TensorTable } from './build/tensor-table.js';
import { GraphError, operandError } from './errors.js';
import type {
  Activation,
  Graph,
  GraphConst,
  GraphInput,
  GraphKv,
  GraphNode,
  GraphTensor,
  GraphValue,
  GraphWeight,
} from './graph.js';
import { formatShape, isDim, sameShape, sameVolume } from './shape.js';
import { inferShapes } from './shape-rules.js';

/** Experts chosen by {@link GraphBuilder.moeRoute}: `ids` i32 [T, k], `weights` f32 [T, k]. */
export interface MoeRouting {
  readonly ids: GraphValue;
  readonly weights: GraphValue;
}

/** Results of {@link GraphBuilder.sample}: see the declaration of the `sample` op. */
export interface SampleOutputs {
  readonly tokens: GraphValue;
  readonly status: GraphValue;
  readonly logprobs: GraphValue;
  readonly topIds: GraphValue;
  readonly topLogprobs: GraphValue;
}

/**
 * Builds a {@link Graph} node by node. Every method checks its operands at once and throws a {@link GraphError} that names
 * the node, the operand and both shapes. Letters: T tokens, S sequences, R logit rows, D width, K inner, N outer, H heads.
 */
export class GraphBuilder {
  readonly #table = new TensorTable();
  readonly #nodes: GraphNode[] = [];
  readonly #nodeNames = new Set<string>();
  readonly #outputs = new Map<string, number>();
  readonly #options: Required<GraphOptions>;
  #scope = '';

  /** Step inputs by their standard names, declared when first used. `attention` and `kvWrite` use them by themselves. */
  readonly step: StepInputs;

  /** @throws GraphError for an option out of range */
  constructor(
    readonly name: string,
    options: GraphOptions,
  ) {
    this.#options = checkOptions(name, options);
    this.step = new StepInputs(this.#table);
  }

  // --- declarations. The same declaration twice gives the same tensor; a different one of the same name throws. ---

  /** Host data given at each launch. Shape `[]`: free length. */
  input(name: string, dtype: 'f32' | 'i32', shape: Shape): GraphInput {
    return this.#table.input(name, dtype, shape);
  }

  /** A weight of the checkpoint, logical shape [K], [N, K] or [G, N, K]. */
  weight(name: string, shape: readonly number[]): GraphWeight {
    return this.#table.weight(name, shape);
  }

  /** Data of the graph itself; copied. Shape defaults to one axis. */
  constant(name: string, data: Float32Array | Int32Array, shape: readonly number[] = [data.length]): GraphConst {
    return this.#table.constant(name, data, shape);
  }

  /** A KV-cache tensor of `width` elements a token, in the graph's KV dtype. */
  kv(name: string, width: number): GraphKv {
    return this.#table.kv(name, width, this.#options.kvDtype);
  }

  /** Runs `body` with `prefix.` before the names of the nodes made in it. Nests. */
  scope<T>(prefix: string, body: () => T): T {
    const outer = this.#scope;
    this.#scope = `${outer}${prefix}.`;
    try {
      return body();
    } finally {
      this.#scope = outer;
    }
  }

  // --- ops ---

  /** y[t] = table[tokens[t]]: tokens [T], table [V, D] -> [T, D]. */
  embedding(tokens: Activation, table: GraphWeight): GraphValue {
    return this.#one('embedding', [tokens, table]);
  }

  /** RMSNorm over the last axis: x [..., D], weight [D] -> [..., D]. */
  rmsNorm(x: Activation, weight: GraphWeight, eps: number): GraphValue {
    return this.#one('rms_norm', [x, weight], { eps });
  }

  /** x W^T + bias: x [..., K], weight [N, K], bias [N] -> [..., N]. `f32` keeps the product in f32 in fast numerics too (routers). */
  linear(x: Activation, weight: GraphWeight, bias?: GraphWeight, options: { readonly f32?: boolean } = {}): GraphValue {
    return this.#one('linear', [x, weight, bias], options.f32 === true ? { f32: true } : {});
  }

  /** One matrix a head: x [T, H, K], weight [H, N, K] -> [T, H, N]. */
  headLinear(x: Activation, weight: GraphWeight): GraphValue {
    return this.#one('head_linear', [x, weight]);
  }

  /** Rotary embedding of elements offset .. offset+2n-1 of each head: x [T, H, D], positions [T], invFreq [n] -> [T, H, D]. */
  rope(x: Activation, positions: Activation, invFreq: Activation, attrs: RopeAttrs): GraphValue {
    const { style, offset = 0, scale = 1 } = attrs;
    return this.#one('rope', [x, positions, invFreq], { style, offset, scale });
  }

  /** cache[slots[t]] = the parts of token t, one after the other. Parts [T, ...] are read as [T, width]. */
  kvWrite(cache: GraphKv, ...parts: readonly Activation[]): void {
    const flat = parts.map((x) => (x.kind === 'value' && x.shape.length > 2 ? this.#flat(x) : x));
    this.#apply('kv_write', [this.step.slots, cache, ...flat], {});
  }

  /** Causal grouped-query attention over the paged cache: q [T, H, D], caches of kvHeads*D and kvHeads*Dv a token -> [T, H, Dv]. */
  attention(q: Activation, kCache: GraphKv, vCache: GraphKv, attrs: AttentionAttrs): GraphValue {
    const { scale, kvHeads, window = 0 } = attrs;
    const { positions, seqStarts, blockTables } = this.step;
    return this.#one('attention', [q, kCache, vCache, positions, seqStarts, blockTables], {
      scale,
      kvHeads,
      window,
      blockSize: this.#options.blockSize,
    });
  }

  /** Absorbed MLA over the latent cache: qLatent [T, H, C], qRope [T, H, Dr], cache of C+Dr a token -> [T, H, C]. */
  mlaAttention(qLatent: Activation, qRope: Activation, cache: GraphKv, attrs: { readonly scale: number }): GraphValue {
    const { positions, seqStarts, blockTables } = this.step;
    return this.#one('mla_attention', [qLatent, qRope, cache, positions, seqStarts, blockTables], {
      scale: attrs.scale,
      blockSize: this.#options.blockSize,
    });
  }

  /** gate * sigmoid(gate) * up, equal shapes. */
  siluMul(gate: Activation, up: Activation): GraphValue {
    return this.#one('silu_mul', [gate, up]);
  }

  /** a + b, equal shapes. */
  add(a: Activation, b: Activation): GraphValue {
    return this.#one('add', [a, b]);
  }

  /** x[t] * sigmoid(gate[t][0]): x [T, D], gate [T, 1] -> [T, D]. */
  sigmoidMul(x: Activation, gate: Activation): GraphValue {
    return this.#one('sigmoid_mul', [x, gate]);
  }

  /** x[..., start : start + length]. */
  slice(x: Activation, start: number, length: number): GraphValue {
    return this.#one('slice', [x], { start, length });
  }

  /** y[r] = x[rows[r]]: x [T, D], rows [R] -> [R, D]. */
  gatherRows(x: Activation, rows: Activation): GraphValue {
    return this.#one('gather_rows', [x, rows]);
  }

  /** Chooses experts: logits [T, E], bias [E] -> ids and weights [T, topK]. */
  moeRoute(logits: Activation, bias: GraphWeight | undefined, attrs: MoeRouteAttrs): MoeRouting {
    const { scoring, topK, nGroup = 1, topkGroup = nGroup, groupScore = 'max', normalize, scale = 1 } = attrs;
    const all = { scoring, topK, nGroup, topkGroup, groupScore, normalize, scale };
    const [ids, weights] = this.#apply('moe_route', [logits, bias], all, ['ids', 'weights']);
    return { ids: ids!, weights: weights! };
  }

  /** The chosen experts' gated MLPs, weighted and summed: x [T, D]; gate, up [E, I, D]; down [E, D, I] -> [T, D]. */
  moeMlp(x: Activation, routing: MoeRouting, gate: GraphWeight, up: GraphWeight, down: GraphWeight): GraphValue {
    return this.#one('moe_mlp', [x, routing.ids, routing.weights, gate, up, down]);
  }

  /**
   * The sampler over logits [R, V]. Declares its inputs by the names of the op's operands: `params_f32`, `params_i32` [R, 16],
   * and the ragged `penalty_starts`, `penalty_ids`, `penalty_counts`, `bias_starts`, `bias_ids`, `bias_values`.
   *
   * @param attrs.topLogprobs most logprobs that a request may ask for (L, at least 1)
   */
  sample(logits: Activation, attrs: { readonly topLogprobs: number }): SampleOutputs {
    const inputs = [
      logits,
      this.input('params_f32', 'f32', ['R', 16]),
      this.input('params_i32', 'i32', ['R', 16]),
      this.input('penalty_starts', 'i32', []),
      this.input('penalty_ids', 'i32', []),
      this.input('penalty_counts', 'i32', []),
      this.input('bias_starts', 'i32', []),
      this.input('bias_ids', 'i32', []),
      this.input('bias_values', 'f32', []),
    ];
    const names = ['tokens', 'status', 'logprobs', 'top_ids', 'top_logprobs'];
    const out = this.#apply('sample', inputs, { topLogprobs: attrs.topLogprobs }, names);
    return { tokens: out[0]!, status: out[1]!, logprobs: out[2]!, topIds: out[3]!, topLogprobs: out[4]! };
  }

  /** The same memory under another shape of the same size at every binding: no op. */
  reshape(x: GraphValue, shape: Shape): GraphValue {
    const node = this.#nodeName(`${this.#scope}reshape`);
    this.#own(node, 'reshape', 'x', x);
    if (!shape.every(isDim) || !sameVolume(x.shape, shape))
      throw operandError(node, 'reshape', 'shape', `as large as ${formatShape(x.shape)}`, formatShape(shape));
    return sameShape(x.shape, shape) ? x : this.#table.value(node, x.dtype, shape, x.id);
  }

  /** Marks a computed tensor as a result of the graph. */
  output(name: string, x: GraphValue): void {
    this.#own(name, 'output', 'x', x);
    if (x.kind !== 'value') throw operandError(name, 'output', 'x', 'a computed tensor', `${(x as GraphTensor).kind}`);
    if (this.#outputs.has(name))
      throw new GraphError(`Output "${name}" is declared twice. Give one of them another name.`, { operand: name });
    this.#outputs.set(name, x.id);
  }

  /**
   * The graph as plain data. The builder may go on afterwards without changing it.
   *
   * @throws GraphError when the graph has no output
   */
  build(): Graph {
    if (this.#outputs.size === 0)
      throw new GraphError(`Graph "${this.name}" has no output. Call output(name, tensor) before build().`);
    return {
      name: this.name,
      numerics: this.#options.numerics,
      maxDims: this.#options.maxDims,
      blockSize: this.#options.blockSize,
      tensors: [...this.#table.tensors],
      nodes: [...this.#nodes],
      outputs: Object.fromEntries(this.#outputs),
    };
  }

  /** x as [T, product of the rest]. */
  #flat(x: GraphValue): GraphValue {
    const rest = x.shape.slice(1).reduce<number>((n, d) => (typeof d === 'number' ? n * d : NaN), 1);
    return this.reshape(x, [x.shape[0]!, rest]);
  }

  #one(op: OpName, inputs: readonly (GraphTensor | undefined)[], attrs: Record<string, AttrValue> = {}): GraphValue {
    return this.#apply(op, inputs, attrs)[0]!;
  }

  #apply(
    op: OpName,
    inputs: readonly (GraphTensor | undefined)[],
    attrs: Readonly<Record<string, AttrValue>>,
    outputNames?: readonly string[],
  ): GraphValue[] {
    const weight = inputs.find((t) => t?.kind === 'weight');
    const node = this.#nodeName(
      op === 'linear' && weight !== undefined ? weight.name.replace(/\.weight$/, '') : `${this.#scope}${op}`,
    );
    for (const t of inputs) if (t !== undefined) this.#own(node, op, 'operand', t);
    const specs = inferShapes(node, op, inputs, attrs);
    const outputs = specs.map((s, i) =>
      this.#table.value(outputNames === undefined ? node : `${node}.${outputNames[i]}`, s.dtype, s.shape),
    );
    this.#nodeNames.add(node);
    this.#nodes.push({
      name: node,
      op,
      inputs: inputs.map((t) => t?.id ?? -1),
      outputs: outputs.map((t) => t.id),
      attrs,
    });
    return outputs;
  }

  #nodeName(base: string): string {
    let name = base;
    for (let n = 2; this.#nodeNames.has(name) || this.#table.freeName(name) !== name; n++) name = `${base}_${n}`;
    return name;
  }

  #own(node: string, op: string, operand: string, t: GraphTensor): void {
    if (this.#table.tensors[t.id] !== t)
      throw operandError(node, op, operand, `a tensor of graph "${this.name}"`, `"${t.name}" of another graph`);
  }
}
