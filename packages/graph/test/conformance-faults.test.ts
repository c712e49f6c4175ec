import type { Backend, HostArray } from '@dsi/kernels';
import { expect, it } from 'vitest';
import { createReferenceBackend } from '../src/index.js';
import { conformanceCases, makeSession } from '../src/testing/index.js';

/** The reference with every result of a launch passed through `fault`. */
function faulty(fault: (name: string, data: HostArray, rows: number) => void): Backend {
  const good = createReferenceBackend();
  return {
    ...good,
    compile(program, weights, kv) {
      const executable = good.compile(program, weights, kv);
      return {
        program,
        dispose: () => executable.dispose(),
        async launch(args) {
          const outputs = await executable.launch(args);
          for (const [name, data] of Object.entries(outputs)) fault(name, data, args.dims.T);
          return outputs;
        },
      };
    },
  };
}

const named = (prefix: string) => conformanceCases('exact', ['BF16']).find((c) => c.name.startsWith(prefix))!;

it.each<[string, string, (name: string, data: HostArray, rows: number) => void]>([
  ['one element is off by little', 'linear BF16', (n, d) => n === 'y1' && d.length > 0 && (d[d.length - 1]! += 1e-3)],
  ['bits depend on the number of rows', 'linear BF16', (_, d, rows) => rows === 3 && (d[0]! *= 1 + 1e-6)],
  ['an element is NaN', 'rope half', (_, d) => (d[0] = NaN)],
  ['attention is off by little', 'attention f32 4/2', (_, d, rows) => rows > 1 && (d[5]! += 1e-4)],
  ['a wrong expert', 'moe_route mixtral', (n, d) => n === 'ids' && (d[3] = (d[3]! + 1) % 8)],
  ['a wrong token', 'sample, vocabulary 7', (n, d) => n === 'tokens' && d.length > 0 && (d[0] = (d[0]! + 1) % 7)],
])('the suite notices: %s', async (_, prefix, fault) => {
  const session = makeSession(faulty(fault), createReferenceBackend(), 'exact');
  await expect(named(prefix).run(session)).rejects.toThrow(/element \d+ of/);
});
