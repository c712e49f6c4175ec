import { ChatTemplateSyntaxError, ChatTemplateValueError } from './errors.js';
import { filter } from './filters.js';
import { isText, plain } from './marked-text.js';
import { attribute, subscript } from './members.js';
import { binaryOperator, sliceValue } from './operators.js';
import { predicate } from './predicates.js';
import type { Expression, Run, Scope } from './run.js';
import type { Node } from './syntax.js';
import {
  type Arguments,
  Callable,
  Dict,
  Float,
  isTruthy,
  iterate,
  numeric,
  typeName,
  Undefined,
  type Value,
} from './values.js';

const CONSTANTS: ReadonlyMap<string, Value> = new Map<string, Value>([
  ['true', true],
  ['True', true],
  ['false', false],
  ['False', false],
  ['none', null],
  ['None', null],
]);

/** Turns an expression's syntax tree into a function. Names of filters, tests and operators are checked now. */
export function compileExpression(node: Node): Expression {
  const evaluate = compileNode(node);
  return (scope, run) => {
    run.step();
    return evaluate(scope, run);
  };
}

function child(node: Node, field: string): Node {
  return node[field] as Node;
}

function compileNode(node: Node): Expression {
  switch (node.type) {
    case 'StringLiteral':
    case 'IntegerLiteral': {
      const value = node['value'] as string | number;
      return () => value;
    }
    case 'FloatLiteral': {
      const value = new Float(node['value'] as number);
      return () => value;
    }
    case 'Identifier': {
      const name = node['value'] as string;
      const constant = CONSTANTS.get(name);
      if (constant !== undefined) return () => constant;
      return (scope) => scope.get(name);
    }
    case 'ArrayLiteral':
    case 'TupleLiteral': {
      const items = (node['value'] as Node[]).map(compileExpression);
      return (scope, run) => items.map((item) => item(scope, run));
    }
    case 'ObjectLiteral':
      return compileDict(node['value'] as Map<Node, Node>);
    case 'BinaryExpression':
      return compileBinary(node);
    case 'UnaryExpression':
      return compileUnary(node);
    case 'Ternary': {
      const condition = compileExpression(child(node, 'condition'));
      const whenTrue = compileExpression(child(node, 'trueExpr'));
      const whenFalse = compileExpression(child(node, 'falseExpr'));
      return (scope, run) => (isTruthy(condition(scope, run)) ? whenTrue(scope, run) : whenFalse(scope, run));
    }
    case 'SelectExpression': {
      const condition = compileExpression(child(node, 'test'));
      const value = compileExpression(child(node, 'lhs'));
      return (scope, run) => (isTruthy(condition(scope, run)) ? value(scope, run) : new Undefined('inline if'));
    }
    case 'TestExpression': {
      const operand = compileExpression(child(node, 'operand'));
      const test = predicate(child(node, 'test')['value'] as string);
      const wanted = node['negate'] !== true;
      return (scope, run) => test(operand(scope, run), null) === wanted;
    }
    case 'FilterExpression': {
      const operand = compileExpression(child(node, 'operand'));
      const apply = compileFilter(child(node, 'filter'));
      return (scope, run) => apply(operand(scope, run), scope, run);
    }
    case 'MemberExpression':
      return compileMember(node);
    case 'CallExpression':
      return compileCall(node);
  }
  throw new ChatTemplateSyntaxError(`"${node.type}" is not an expression`);
}

function compileDict(pairs: ReadonlyMap<Node, Node>): Expression {
  const compiled = [...pairs].map(([key, value]) => [compileExpression(key), compileExpression(value)] as const);
  return (scope, run) => {
    const entries = new Map<string, Value>();
    let marked = false;
    for (const [key, value] of compiled) {
      const name = key(scope, run);
      if (!isText(name))
        throw new ChatTemplateValueError(`keys of a dictionary must be strings, not ${typeName(name)}`);
      if (typeof name !== 'string') marked = true;
      entries.set(plain(name), value(scope, run));
    }
    return new Dict(entries, marked);
  };
}

function compileBinary(node: Node): Expression {
  const left = compileExpression(child(node, 'left'));
  const right = compileExpression(child(node, 'right'));
  const name = (node['operator'] as { readonly value: string }).value;
  if (name === 'and') {
    return (scope, run) => {
      const value = left(scope, run);
      return isTruthy(value) ? right(scope, run) : value;
    };
  }
  if (name === 'or') {
    return (scope, run) => {
      const value = left(scope, run);
      return isTruthy(value) ? value : right(scope, run);
    };
  }
  const apply = binaryOperator(name);
  return (scope, run) => apply(left(scope, run), right(scope, run), run);
}

function compileUnary(node: Node): Expression {
  const argument = compileExpression(child(node, 'argument'));
  const name = (node['operator'] as { readonly value: string }).value;
  if (name === 'not') return (scope, run) => !isTruthy(argument(scope, run));
  const sign = name === '-' ? -1 : 1;
  return (scope, run) => {
    const value = argument(scope, run);
    const number = numeric(value);
    if (number === undefined) throw new ChatTemplateValueError(`cannot apply ${name} to ${typeName(value)}`);
    return value instanceof Float ? new Float(sign * number) : sign * number;
  };
}

function compileMember(node: Node): Expression {
  const object = compileExpression(child(node, 'object'));
  const property = child(node, 'property');
  if (node['computed'] !== true) {
    const name = property['value'] as string | number;
    if (typeof name === 'number') return (scope, run) => subscript(object(scope, run), name, run);
    return (scope, run) => attribute(object(scope, run), name, run);
  }
  if (property.type === 'SliceExpression') {
    const [start, stop, step] = ['start', 'stop', 'step'].map((field) => optional(property[field]));
    return (scope, run) =>
      sliceValue(object(scope, run), start!(scope, run), stop!(scope, run), step!(scope, run), run);
  }
  const key = compileExpression(property);
  return (scope, run) => subscript(object(scope, run), key(scope, run), run);
}

function optional(node: unknown): Expression {
  return node === undefined ? () => null : compileExpression(node as Node);
}

function compileCall(node: Node): Expression {
  const callee = compileExpression(child(node, 'callee'));
  const args = compileArguments(node['args'] as Node[]);
  return (scope, run) => invoke(callee(scope, run), args(scope, run));
}

/** Calls a value. */
export function invoke(callee: Value, args: Arguments): Value {
  if (callee instanceof Callable) return callee.call(args);
  throw new ChatTemplateValueError(`${typeName(callee)} cannot be called`);
}

/** Arguments of a call, with `*list` and `**dictionary` unpacked. */
export function compileArguments(nodes: readonly Node[]): (scope: Scope, run: Run) => Arguments {
  const parts = nodes.map((node) => {
    switch (node.type) {
      case 'KeywordArgumentExpression':
        return {
          kind: 'named' as const,
          name: child(node, 'key')['value'] as string,
          value: compileExpression(child(node, 'value')),
        };
      case 'SpreadExpression':
        return { kind: 'list' as const, name: '', value: compileExpression(child(node, 'argument')) };
      case 'KeywordSpreadExpression':
        return { kind: 'dict' as const, name: '', value: compileExpression(child(node, 'argument')) };
    }
    return { kind: 'positional' as const, name: '', value: compileExpression(node) };
  });
  return (scope, run) => {
    const positional: Value[] = [];
    const named = new Map<string, Value>();
    for (const { kind, name, value } of parts) {
      const result = value(scope, run);
      if (kind === 'positional') positional.push(result);
      else if (kind === 'named') named.set(name, result);
      else if (kind === 'list') positional.push(...iterate(result));
      else if (result instanceof Dict) for (const [key, item] of result.entries) named.set(key, item);
      else throw new ChatTemplateValueError(`${typeName(result)} cannot be unpacked with **`);
    }
    return { positional, named };
  };
}

/** A filter with its arguments, as it stands after a pipe or in `{% filter %}`. */
export function compileFilter(node: Node): (value: Value, scope: Scope, run: Run) => Value {
  const isCall = node.type === 'CallExpression';
  const name = (isCall ? child(node, 'callee') : node)['value'];
  if (typeof name !== 'string') throw new ChatTemplateSyntaxError('a filter must be a name');
  const apply = filter(name);
  const args = compileArguments(isCall ? (node['args'] as Node[]) : []);
  return (value, scope, run) => {
    run.step();
    return apply(value, args(scope, run), run);
  };
}
