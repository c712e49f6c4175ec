import {
  weightUses,
  type Backend,
  type HostArray,
  type LaunchArgs,
  type Numerics,
  type Program,
  type WeightTensor,
} from '@dsi/kernels';
import { GraphBuilder } from '../builder.js';
import { compile, type CompileOptions } from '../compile.js';
import { tolerances, type Tolerances } from './tolerances.js';

export type Outputs = Readonly<Record<string, HostArray>>;

export const maxDims = { T: 1024, S: 16, R: 64, B: 128 } as const;
export const blockSize = 16;
/** KV blocks that every case has. */
export const numBlocks = 128;

/** What a case runs: a program, its weights, and launches that follow one another on one KV storage. */
export interface Experiment {
  readonly program: Program;
  readonly weights: readonly WeightTensor[];
  readonly launches: readonly LaunchArgs[];
}

/** One backend under test, in one numerics mode, beside the reference. */
export interface Session {
  readonly backend: Backend;
  readonly reference: Backend;
  readonly numerics: Numerics;
  readonly tolerances: Tolerances;
}

export function makeSession(backend: Backend, reference: Backend, numerics: Numerics): Session {
  return { backend, reference, numerics, tolerances: tolerances[numerics] };
}

/** A builder with the sizes of the suite. */
export function newGraph(numerics: Numerics, kvDtype?: 'f32' | 'f16' | 'bf16'): GraphBuilder {
  const options = { numerics, maxDims, blockSize };
  return new GraphBuilder('case', kvDtype === undefined ? options : { ...options, kvDtype });
}

/** A program of what `body` builds. */
export function program(
  numerics: Numerics,
  body: (g: GraphBuilder) => void,
  options: CompileOptions & { readonly kvDtype?: 'f32' | 'f16' | 'bf16' } = {},
): Program {
  const g = newGraph(numerics, options.kvDtype);
  body(g);
  return compile(g.build(), options).program;
}

/** Runs the launches in order and gives their outputs. Frees everything. */
export async function evaluate(backend: Backend, e: Experiment, numerics: Numerics): Promise<Outputs[]> {
  const weights = await backend.loadWeights(e.weights, weightUses([e.program]), { numerics });
  const specs = e.program.tensors.flatMap((t) =>
    t.kind === 'kv' ? [{ name: t.name, width: t.width, dtype: t.dtype }] : [],
  );
  const kv = backend.createKv(specs, numBlocks, blockSize);
  const executable = backend.compile(e.program, weights, kv);
  try {
    const outputs: Outputs[] = [];
    for (const launch of e.launches) outputs.push(await executable.launch(launch));
    return outputs;
  } finally {
    executable.dispose();
    kv.dispose();
    weights.dispose();
  }
}

/** The same experiment on the backend and on the reference. */
export async function both(s: Session, e: Experiment): Promise<{ actual: Outputs[]; expected: Outputs[] }> {
  return { actual: await evaluate(s.backend, e, s.numerics), expected: await evaluate(s.reference, e, s.numerics) };
}

/** A launch of T rows without sequences. */
export function rowsLaunch(T: number, inputs: Readonly<Record<string, HostArray>>, R = 0): LaunchArgs {
  return { dims: { T, S: 1, R, B: 1 }, inputs };
}

export interface ConformanceCase {
  readonly name: string;
  run(session: Session): Promise<void>;
}
