import type { Backend, Numerics, WeightFormat } from '@dsi/kernels';
import { createReferenceBackend } from '../reference/backend.js';
import { attentionCases } from './cases/attention.js';
import { modelCases } from './cases/model.js';
import { moeCases } from './cases/moe.js';
import { productCases } from './cases/products.js';
import { rowCases } from './cases/rows.js';
import { sampleCases } from './cases/sample.js';
import { makeSession, type ConformanceCase } from './harness.js';
import { formatCols } from './random-weights.js';

export { ConformanceError } from './compare.js';
export type { ConformanceCase, Session } from './harness.js';
export { makeSession } from './harness.js';
export { Random } from './random.js';
export { formatCols, randomWeight } from './random-weights.js';
export { tolerances, type Tolerances } from './tolerances.js';

export interface ConformanceOptions {
  /** Registers one test: vitest's `test`. */
  readonly test: (name: string, body: () => Promise<void>) => void;
  /** Registers what is done after the last test that ran: vitest's `afterAll`. */
  readonly afterAll: (body: () => Promise<void>) => void;
  /** Default: both. */
  readonly numerics?: readonly Numerics[];
  /** Weight formats that the backend takes. Default: all. */
  readonly formats?: readonly WeightFormat[];
}

/** Every case of the suite in one numerics mode. */
export function conformanceCases(numerics: Numerics, formats?: readonly WeightFormat[]): ConformanceCase[] {
  const wanted = formats ?? (Object.keys(formatCols) as WeightFormat[]);
  return [
    ...rowCases(),
    ...productCases(wanted),
    ...attentionCases(numerics),
    ...moeCases(wanted),
    ...sampleCases(),
    ...modelCases(wanted),
  ];
}

/**
 * Registers the op conformance suite: op x dtype x weight format on fixed random cases, each against the reference under the one table
 * of tolerances, and against itself for bits that must not change (a row alone or in a batch, any chunks, any order of sequences).
 *
 * @param makeBackend called once, before the first case; its backend is disposed in `afterAll`
 */
export function runOpConformance(makeBackend: () => Backend | Promise<Backend>, options: ConformanceOptions): void {
  const reference = createReferenceBackend({ poisonArena: true });
  let made: Promise<Backend> | undefined;
  for (const numerics of options.numerics ?? (['exact', 'fast'] as const))
    for (const c of conformanceCases(numerics, options.formats))
      options.test(`${numerics}: ${c.name}`, async () => {
        made ??= Promise.resolve(makeBackend());
        await c.run(makeSession(await made, reference, numerics));
      });
  options.afterAll(async () => (await made)?.dispose());
}
