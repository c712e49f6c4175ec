import { createCpuBackend, nativeStatus, type Isa } from '@dsi/kernels';
import { afterAll, describe, test } from 'vitest';
import { runOpConformance } from '../src/testing/index.js';

const order: readonly Isa[] = ['generic', 'avx2', 'avx512'];
const status = nativeStatus();
const isas = status.available ? order.slice(0, order.indexOf(status.bestIsa as Isa) + 1) : [];

describe.skipIf(!status.available)('cpu backend (only where the native kernels are built)', () => {
  for (const isa of isas)
    describe(isa, () => {
      runOpConformance(() => createCpuBackend({ isa, threads: 2 }), { test, afterAll });
    });
});
