import { ProgramError, type Program, type ProgramTensor } from '@dsi/kernels';
import { describe, expect, it } from 'vitest';
import { tinyDecoder } from '../test/tiny-decoder.js';
import { checkProgram } from './check-program.js';
import { compile } from './compile.js';

const { program } = compile(tinyDecoder().build());

function refuses(p: Program, message: string | RegExp): void {
  expect(() => checkProgram(p)).toThrow(ProgramError);
  expect(() => checkProgram(p)).toThrow(message);
}

function withTensor(name: string, change: Partial<ProgramTensor>): Program {
  const tensors = program.tensors.map((t) => (t.name === name ? ({ ...t, ...change } as ProgramTensor) : t));
  return { ...program, tensors };
}

const withOp = (i: number, change: Partial<Program['ops'][number]>): Program => ({
  ...program,
  ops: program.ops.map((op, j) => (i === j ? { ...op, ...change } : op)),
});

const at = (op: string) => program.ops.findIndex((o) => o.op === op);

describe('checkProgram', () => {
  it('accepts what compile makes', () => expect(() => checkProgram(program)).not.toThrow());

  it('refuses another version, unknown ops and dangling tensors', () => {
    refuses({ ...program, version: 2 as never }, 'version');
    refuses(withOp(0, { op: 'toString' as never }), 'toString');
    refuses(withOp(0, { inputs: [999, 0] }), 'tokens');
    refuses({ ...program, outputs: { y: 0 } }, 'not a value');
  });

  it('refuses shapes and attributes that do not fit, naming op and operand', () => {
    refuses(withTensor('o.weight', { shape: [8, 9] }), /\(linear\), weight/);
    refuses(withOp(at('rms_norm'), { attrs: {} }), 'eps');
    refuses(withOp(at('attention'), { attrs: { ...program.ops[at('attention')]!.attrs, kvHeads: 3 } }), 'kvHeads');
    refuses(withTensor('embed.weight', { shape: [11, 'Q' as never] }), 'its size Q');
  });

  it('refuses plans that leave the arena, are misaligned, or overwrite what is still read', () => {
    refuses({ ...program, arenaBytes: program.arenaBytes - 64 }, 'beyond the arena');
    refuses(withTensor('q', { offset: 4 } as never), 'multiple of 64');
    const k = program.tensors.find((t) => t.name === 'k');
    refuses(withTensor('q', { offset: (k as { offset: number }).offset } as never), 'overwrite');
    const order = [...program.ops];
    const [first] = order.splice(0, 1);
    refuses({ ...program, ops: [...order, first!] }, 'was not written');
  });
});
