import type { Shape } from '@dsi/kernels';
import { GraphError } from '../errors.js';
import type { GraphConst, GraphInput, GraphKv, GraphTensor, GraphValue, GraphWeight } from '../graph.js';
import { formatShape, isDim, sameShape, staticSize } from '../shape.js';

function checkShape(what: string, shape: Shape): void {
  for (const d of shape)
    if (!isDim(d))
      throw new GraphError(
        `${what}: shape ${formatShape(shape)} has the size ${String(d)}; a size is a positive whole number or one of T, S, S+1, R, B.`,
        { operand: what, actual: String(d) },
      );
}

function sameData(a: Float32Array | Int32Array, b: Float32Array | Int32Array): boolean {
  return a.constructor === b.constructor && a.length === b.length && a.every((v, i) => Object.is(v, b[i]));
}

/** The tensors of a graph under construction: unique names, and declaring the same thing again gives the same tensor. */
export class TensorTable {
  readonly tensors: GraphTensor[] = [];
  readonly #byName = new Map<string, GraphTensor>();

  #declare<T extends GraphTensor>(t: T, same: (earlier: T) => boolean): T {
    const earlier = this.#byName.get(t.name);
    if (earlier !== undefined) {
      if (earlier.kind === t.kind && same(earlier as T)) return earlier as T;
      throw new GraphError(
        `"${t.name}" is declared twice: first as ${earlier.kind} ${formatShape(earlier.shape)}, now as a different ${t.kind} ${formatShape(t.shape)}. Give one of them another name.`,
        { operand: t.name, expected: formatShape(earlier.shape), actual: formatShape(t.shape) },
      );
    }
    checkShape(`${t.kind} "${t.name}"`, t.shape);
    this.#byName.set(t.name, t);
    this.tensors.push(t);
    return t;
  }

  input(name: string, dtype: 'f32' | 'i32', shape: Shape): GraphInput {
    return this.#declare<GraphInput>(
      { kind: 'input', id: this.tensors.length, name, dtype, shape: [...shape] },
      (e) => e.dtype === dtype && sameShape(e.shape, shape),
    );
  }

  weight(name: string, shape: readonly number[]): GraphWeight {
    return this.#declare<GraphWeight>({ kind: 'weight', id: this.tensors.length, name, shape: [...shape] }, (e) =>
      sameShape(e.shape, shape),
    );
  }

  constant(name: string, data: Float32Array | Int32Array, shape: readonly number[]): GraphConst {
    if (staticSize(shape) !== data.length)
      throw new GraphError(`const "${name}": shape ${formatShape(shape)} does not hold ${data.length} elements.`, {
        operand: name,
        expected: `${data.length} elements`,
        actual: formatShape(shape),
      });
    const dtype = data instanceof Float32Array ? 'f32' : 'i32';
    return this.#declare<GraphConst>(
      { kind: 'const', id: this.tensors.length, name, dtype, shape: [...shape], data: data.slice() },
      (e) => sameShape(e.shape, shape) && sameData(e.data, data),
    );
  }

  kv(name: string, width: number, dtype: GraphKv['dtype']): GraphKv {
    return this.#declare<GraphKv>(
      { kind: 'kv', id: this.tensors.length, name, dtype, width, shape: [width] },
      (e) => e.dtype === dtype && e.width === width,
    );
  }

  value(name: string, dtype: 'f32' | 'i32', shape: Shape, aliasOf = -1): GraphValue {
    const t: GraphValue = {
      kind: 'value',
      id: this.tensors.length,
      name: this.freeName(name),
      dtype,
      shape: [...shape],
      aliasOf,
    };
    return this.#declare(t, () => false);
  }

  /** `name`, or `name_2`, `name_3`, ... when it is taken. */
  freeName(name: string): string {
    if (!this.#byName.has(name)) return name;
    let n = 2;
    while (this.#byName.has(`${name}_${n}`)) n++;
    return `${name}_${n}`;
  }
}
