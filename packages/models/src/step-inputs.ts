import type { HostArray, Program } from './contract.js';
import type { StepPart } from './step.js';

export interface StepLayout {
  readonly blockSize: number;
  readonly program: Program;
  /** Rows that need logits: the last new token of each sequence, or all. */
  readonly rows: 'last' | 'all';
}

/** Launch arguments of a step. Sequences must already have blocks for their new tokens. Only inputs that the program has are made. */
export function stepInputs(
  parts: readonly StepPart[],
  { blockSize, program, rows }: StepLayout,
): { dims: { T: number; S: number; R: number; B: number }; inputs: Record<string, HostArray> } {
  const total = parts.reduce((n, p) => n + p.tokens.length, 0);
  const columns = Math.max(1, ...parts.map((p) => p.sequence.blocks.length));
  const tokens = new Int32Array(total);
  const positions = new Int32Array(total);
  const slots = new Int32Array(total);
  const seqStarts = new Int32Array(parts.length + 1);
  const blockTables = new Int32Array(parts.length * columns);
  const wanted: number[] = [];
  let t = 0;
  parts.forEach(({ sequence, tokens: ids }, s) => {
    blockTables.set(sequence.blocks, s * columns);
    ids.forEach((id, i) => {
      const position = sequence.length + i;
      tokens[t] = id;
      positions[t] = position;
      slots[t] = (sequence.blocks[Math.floor(position / blockSize)] as number) * blockSize + (position % blockSize);
      if (rows === 'all' || i === ids.length - 1) wanted.push(t);
      t++;
    });
    seqStarts[s + 1] = t;
  });
  const all: Record<string, HostArray> = {
    tokens,
    positions,
    slots,
    seq_starts: seqStarts,
    block_tables: blockTables,
    rows: Int32Array.from(wanted),
    hidden: joined(parts),
  };
  const names = program.tensors.filter((x) => x.kind === 'input').map((x) => x.name);
  return {
    dims: { T: total, S: parts.length, R: wanted.length, B: columns },
    inputs: Object.fromEntries(names.flatMap((name) => (all[name] === undefined ? [] : [[name, all[name]]]))),
  };
}

function joined(parts: readonly StepPart[]): Float32Array {
  const out = new Float32Array(parts.reduce((n, p) => n + (p.hidden?.length ?? 0), 0));
  let at = 0;
  for (const { hidden } of parts) {
    if (hidden === undefined) continue;
    out.set(hidden, at);
    at += hidden.length;
  }
  return out;
}
