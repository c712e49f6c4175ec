import { compileExpression } from './compile-expression.js';
import { compileTarget } from './compile-target.js';
import { ChatTemplateValueError } from './errors.js';
import { type Run, Scope, type Statement } from './run.js';
import type { Node } from './syntax.js';
import { Callable, Dict, equals, isTruthy, iterate, orElse, Undefined, type Value } from './values.js';

/** `{% for target in iterable if condition %} … {% else %} … {% endfor %}`; every round has a scope of its own. `compileBlock` compiles its bodies. */
export function compileFor(node: Node, compileBlock: (nodes: readonly Node[]) => Statement): Statement {
  const assign = compileTarget(node['loopvar'] as Node);
  const source = node['iterable'] as Node;
  const filtered = source.type === 'SelectExpression';
  const iterable = compileExpression(filtered ? (source['lhs'] as Node) : source);
  const condition = filtered ? compileExpression(source['test'] as Node) : undefined;
  const body = compileBlock(node['body'] as Node[]);
  const otherwise = compileBlock(node['defaultBlock'] as Node[]);
  return (scope, run, out) => {
    let items = iterate(iterable(scope, run));
    run.step(items.length);
    if (condition !== undefined) {
      items = items.filter((item) => {
        const inner = new Scope(scope);
        assign(inner, item, run);
        return isTruthy(condition(inner, run));
      });
    }
    if (items.length === 0) return otherwise(new Scope(scope), run, out);
    const changes = new ChangeTracker();
    for (let i = 0; i < items.length; i++) {
      const inner = new Scope(scope);
      inner.set('loop', loopVariable(items, i, changes, run));
      assign(inner, items[i]!, run);
      if (body(inner, run, out) === 'break') break;
    }
    return 'next';
  };
}

/** State of `loop.changed(…)`. */
class ChangeTracker {
  private last: readonly Value[] | undefined;

  changed(values: readonly Value[]): boolean {
    const same = this.last !== undefined && equals(this.last, values);
    this.last = values;
    return !same;
  }
}

function loopVariable(items: readonly Value[], i: number, changes: ChangeTracker, run: Run): Dict {
  run.step();
  return new Dict(
    new Map<string, Value>([
      ['index', i + 1],
      ['index0', i],
      ['revindex', items.length - i],
      ['revindex0', items.length - i - 1],
      ['first', i === 0],
      ['last', i === items.length - 1],
      ['length', items.length],
      ['previtem', orElse(items[i - 1], new Undefined('loop.previtem'))],
      ['nextitem', orElse(items[i + 1], new Undefined('loop.nextitem'))],
      [
        'cycle',
        new Callable('cycle', ({ positional }) => {
          if (positional.length === 0) throw new ChatTemplateValueError('loop.cycle() needs arguments');
          return positional[i % positional.length]!;
        }),
      ],
      ['changed', new Callable('changed', ({ positional }) => changes.changed(positional))],
    ]),
    false,
  );
}
