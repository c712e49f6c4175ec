import { afterAll, describe } from 'vitest';
import {
  createCpuBackend,
  nativeStatus,
  weightUses,
  type CpuBackend,
  type HostArray,
  type Isa,
  type KvTensorSpec,
  type LaunchArgs,
  type Program,
  type WeightTensor,
} from '../../src/index.js';

const status = nativeStatus();
const required = process.env['DSI_REQUIRE_NATIVE'] !== undefined;

/** Instruction sets of this machine, the oracle first. */
export const isas: readonly Isa[] = status.available
  ? (['generic', 'avx2', 'avx512'] as const).filter((_, i, all) => i <= all.indexOf(status.bestIsa as Isa))
  : ['generic'];

/** Tests that need the native build: skipped, and named so, where there is none and DSI_REQUIRE_NATIVE is unset. */
export function describeNative(name: string, body: () => void): void {
  if (status.available || required) describe(name, body);
  else describe.skip(`${name} (skipped: the native kernels are not built)`, body);
}

/** The backend of a suite, disposed after it. Backends of one process share an instruction set: one suite at a time. */
export function suiteBackend(options: { isa?: Isa; threads?: number } = {}): () => CpuBackend {
  let backend: CpuBackend | undefined;
  afterAll(() => {
    backend?.dispose();
    backend = undefined;
  });
  return () => (backend ??= createCpuBackend({ threads: 2, ...options }));
}

export interface RunOptions extends Omit<LaunchArgs, 'dims'> {
  readonly dims?: Partial<LaunchArgs['dims']>;
  readonly weights?: readonly WeightTensor[];
  readonly kv?: readonly KvTensorSpec[];
  readonly numBlocks?: number;
  readonly blockSize?: number;
}

/** Compiles and launches once, and frees everything but the backend. */
export async function runOnce(
  backend: CpuBackend,
  program: Program,
  options: RunOptions,
): Promise<Readonly<Record<string, HostArray>>> {
  const weights = await backend.loadWeights(options.weights ?? [], weightUses([program]), {
    numerics: program.numerics,
  });
  const kv = backend.createKv(options.kv ?? [], options.numBlocks ?? 1, options.blockSize ?? 16);
  const executable = backend.compile(program, weights, kv);
  try {
    return await executable.launch({ ...options, dims: { T: 0, S: 0, R: 0, B: 0, ...options.dims } });
  } finally {
    executable.dispose();
    kv.dispose();
    weights.dispose();
  }
}

/** A vector weight in f32. */
export function f32Weight(name: string, shape: readonly number[], values: Float32Array): WeightTensor {
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  return { name, format: 'F32', shape, data: [{ bytes }] };
}
