import { compileArguments, compileExpression, compileFilter, invoke } from './compile-expression.js';
import { compileFor } from './compile-for.js';
import { compileTarget } from './compile-target.js';
import { ChatTemplateValueError } from './errors.js';
import { toText } from './python-text.js';
import { type Expression, Output, type Run, Scope, type Statement } from './run.js';
import type { Node } from './syntax.js';
import { type Arguments, Callable, Dict, isTruthy, orElse, type Value } from './values.js';

/** Turns a list of statements into one. */
export function compileBlock(nodes: readonly Node[]): Statement {
  const statements = nodes.filter((node) => node.type !== 'Comment').map(compileStatement);
  return (scope, run, out) => {
    for (const statement of statements) {
      const flow = statement(scope, run, out);
      if (flow !== 'next') return flow;
    }
    return 'next';
  };
}

function compileStatement(node: Node): Statement {
  switch (node.type) {
    case 'If': {
      const test = compileExpression(node['test'] as Node);
      const body = compileBlock(node['body'] as Node[]);
      const alternate = compileBlock(node['alternate'] as Node[]);
      return (scope, run, out) => (isTruthy(test(scope, run)) ? body : alternate)(scope, run, out);
    }
    case 'For':
      return compileFor(node, compileBlock);
    case 'Set':
      return compileSet(node);
    case 'Macro': {
      const name = (node['name'] as Node)['value'] as string;
      const create = compileMacro(name, node['args'] as Node[], node['body'] as Node[]);
      return (scope, run) => {
        scope.set(name, create(scope, run));
        return 'next';
      };
    }
    case 'CallStatement':
      return compileCallBlock(node);
    case 'FilterStatement': {
      const body = compileBlock(node['body'] as Node[]);
      const apply = compileFilter(node['filter'] as Node);
      return (scope, run, out) => {
        const inner = new Output(run);
        const flow = body(new Scope(scope), run, inner);
        out.write(toText(apply(inner.text(), scope, run)));
        return flow;
      };
    }
    case 'Break':
      return () => 'break';
    case 'Continue':
      return () => 'continue';
    case 'StringLiteral': {
      const text = node['value'] as string;
      return (_scope, run, out) => {
        run.step();
        out.write(text);
        return 'next';
      };
    }
  }
  const expression = compileExpression(node);
  return (scope, run, out) => {
    out.write(toText(expression(scope, run)));
    return 'next';
  };
}

function compileSet(node: Node): Statement {
  const assign = compileTarget(node['assignee'] as Node);
  const value: Expression =
    node['value'] === null ? captured(compileBlock(node['body'] as Node[])) : compileExpression(node['value'] as Node);
  return (scope, run) => {
    run.step();
    assign(scope, value(scope, run), run);
    return 'next';
  };
}

/** What a block prints, as a value. */
function captured(body: Statement): Expression {
  return (scope, run) => {
    const inner = new Output(run);
    body(new Scope(scope), run, inner);
    return inner.text();
  };
}

/** A function that binds a macro to the scope it is defined in. */
function compileMacro(
  name: string,
  parameters: readonly Node[],
  bodyNodes: readonly Node[],
): (scope: Scope, run: Run) => Callable {
  const names = parameters.map((node) =>
    node.type === 'KeywordArgumentExpression' ? ((node['key'] as Node)['value'] as string) : (node['value'] as string),
  );
  const defaults = parameters.map((node) =>
    node.type === 'KeywordArgumentExpression' ? compileExpression(node['value'] as Node) : undefined,
  );
  const body = compileBlock(bodyNodes);
  const rest = { positional: mentions(bodyNodes, 'varargs'), named: mentions(bodyNodes, 'kwargs') };
  return (definedIn, run) =>
    new Callable(name, (args) =>
      run.nested(() => {
        const scope = new Scope(definedIn);
        const surplus = bind(names, defaults, args, scope, run);
        if (surplus.named.size > 0 && !rest.named) {
          throw new ChatTemplateValueError(`${name}() takes no argument named "${[...surplus.named.keys()][0]!}"`);
        }
        if (surplus.positional.length > 0 && !rest.positional) {
          throw new ChatTemplateValueError(`${name}() takes at most ${names.length} arguments`);
        }
        scope.set('varargs', surplus.positional);
        scope.set('kwargs', new Dict(surplus.named, false));
        const out = new Output(run);
        body(scope, run, out);
        return out.text();
      }),
    );
}

/** Whether a name is read anywhere below these nodes. */
function mentions(nodes: unknown, name: string): boolean {
  if (Array.isArray(nodes)) return nodes.some((node) => mentions(node, name));
  if (nodes instanceof Map) return [...nodes].some((pair) => mentions(pair, name));
  if (typeof nodes !== 'object' || nodes === null) return false;
  const node = nodes as Node;
  if (node.type === 'Identifier') return node['value'] === name;
  return Object.values(node).some((part) => mentions(part, name));
}

/** Binds parameters in `scope` and returns the arguments that none of them took. */
function bind(
  names: readonly string[],
  defaults: readonly (Expression | undefined)[],
  args: Arguments,
  scope: Scope,
  run: Run,
): { readonly positional: readonly Value[]; readonly named: Map<string, Value> } {
  const named = new Map(args.named);
  const caller = named.get('caller');
  if (caller !== undefined && !names.includes('caller')) {
    named.delete('caller');
    scope.set('caller', caller);
  }
  for (const name of names) scope.hide(name);
  names.forEach((name, i) => {
    const given = orElse(args.positional[i], named.get(name));
    const value = given === undefined ? defaults[i]?.(scope, run) : given;
    named.delete(name);
    if (value !== undefined) scope.set(name, value);
  });
  return { positional: args.positional.slice(names.length), named };
}

function compileCallBlock(node: Node): Statement {
  const call = node['call'] as Node;
  const callee = compileExpression(call['callee'] as Node);
  const args = compileArguments(call['args'] as Node[]);
  const caller = compileMacro('caller', (node['callerArgs'] as Node[] | null) ?? [], node['body'] as Node[]);
  return (scope, run, out) => {
    const { positional, named } = args(scope, run);
    const withCaller = new Map(named).set('caller', caller(scope, run));
    out.write(toText(invoke(callee(scope, run), { positional, named: withCaller })));
    return 'next';
  };
}
