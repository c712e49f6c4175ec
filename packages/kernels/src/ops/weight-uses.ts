import type { WeightUse } from '../backend.js';
import type { Program, ProgramOp, TensorId } from '../program.js';

/** Every use of every weight in these programs, by weight name: what `loadWeights` needs to choose the packed layouts. */
export function weightUses(programs: Iterable<Program>): Map<string, ReadonlySet<WeightUse>> {
  const uses = new Map<string, Set<WeightUse>>();
  for (const program of programs) {
    for (const op of program.ops) {
      for (const [id, use] of operandUses(op)) {
        const tensor = program.tensors[id];
        if (tensor?.kind !== 'weight') continue;
        let set = uses.get(tensor.name);
        if (!set) uses.set(tensor.name, (set = new Set()));
        set.add(use);
      }
    }
  }
  return uses;
}

/** The weight operands of one op and the use it makes of each. */
function operandUses(op: ProgramOp): [TensorId, WeightUse][] {
  const at = (index: number, use: WeightUse): [TensorId, WeightUse] => [op.inputs[index] ?? -1, use];
  switch (op.op) {
    case 'embedding':
      return [at(1, 'embedding')];
    case 'rms_norm':
      return [at(1, 'vector')];
    case 'add_rms_norm':
      return [at(2, 'vector')];
    case 'linear': {
      const n = (op.inputs.length - 1) / 2;
      const use = op.attrs['f32'] === true ? 'linear_f32' : 'linear';
      return op.inputs.slice(1).map((id, i) => [id, i < n ? use : 'vector']);
    }
    case 'head_linear':
      return [at(1, 'head_linear')];
    case 'moe_route':
      return [at(1, 'vector')];
    case 'moe_mlp':
      return [at(3, 'experts'), at(4, 'experts'), at(5, 'experts')];
    default:
      return [];
  }
}
