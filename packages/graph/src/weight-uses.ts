import type { Program, WeightUse } from '@dsi/kernels';

/** How one op uses its weight operand `index`. */
function useOf(op: Program['ops'][number], index: number): WeightUse {
  switch (op.op) {
    case 'embedding':
      return 'embedding';
    case 'linear':
      if (index > op.outputs.length) return 'vector';
      return op.attrs.f32 === true ? 'linear_f32' : 'linear';
    case 'head_linear':
      return 'head_linear';
    case 'moe_mlp':
      return 'experts';
    default:
      return 'vector';
  }
}

/** Every weight that the programs name, with how their ops use it: what `Backend.loadWeights` wants to know. */
export function weightUses(programs: readonly Program[]): Map<string, Set<WeightUse>> {
  const uses = new Map<string, Set<WeightUse>>();
  for (const p of programs)
    for (const op of p.ops)
      op.inputs.forEach((id, i) => {
        const t = p.tensors[id];
        if (t?.kind !== 'weight') return;
        const set = uses.get(t.name) ?? new Set<WeightUse>();
        uses.set(t.name, set.add(useOf(op, i)));
      });
  return uses;
}
