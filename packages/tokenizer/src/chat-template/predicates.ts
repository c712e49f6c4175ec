import { ChatTemplateSyntaxError, ChatTemplateValueError } from './errors.js';
import { isText, plain } from './marked-text.js';
import { contains } from './operators.js';
import { Callable, compare, Dict, equals, Float, numeric, typeName, Undefined, type Value } from './values.js';

/** A Jinja test: `value is name` or `select("name", argument)`. */
export type Predicate = (value: Value, argument: Value) => boolean;

const PREDICATES: ReadonlyMap<string, Predicate> = new Map<string, Predicate>([
  ['defined', (value) => !(value instanceof Undefined)],
  ['undefined', (value) => value instanceof Undefined],
  ['none', (value) => value === null],
  ['boolean', (value) => typeof value === 'boolean'],
  ['true', (value) => value === true],
  ['false', (value) => value === false],
  ['integer', (value) => typeof value === 'number'],
  ['float', (value) => value instanceof Float],
  ['number', (value) => numeric(value) !== undefined],
  ['string', (value) => isText(value)],
  ['mapping', (value) => value instanceof Dict],
  ['iterable', isIterable],
  ['sequence', (value) => isIterable(value)],
  ['callable', (value) => value instanceof Callable],
  ['odd', (value) => integer(value, 'odd') % 2 !== 0],
  ['even', (value) => integer(value, 'even') % 2 === 0],
  ['divisibleby', (value, by) => integer(value, 'divisibleby') % integer(by, 'divisibleby') === 0],
  ['lower', (value) => isText(value) && plain(value) === plain(value).toLowerCase() && hasCase(plain(value))],
  ['upper', (value) => isText(value) && plain(value) === plain(value).toUpperCase() && hasCase(plain(value))],
  ['eq', equals],
  ['equalto', equals],
  ['==', equals],
  ['ne', (value, other) => !equals(value, other)],
  ['!=', (value, other) => !equals(value, other)],
  ['lt', (value, other) => compare(value, other) < 0],
  ['lessthan', (value, other) => compare(value, other) < 0],
  ['le', (value, other) => compare(value, other) <= 0],
  ['gt', (value, other) => compare(value, other) > 0],
  ['greaterthan', (value, other) => compare(value, other) > 0],
  ['ge', (value, other) => compare(value, other) >= 0],
  ['in', contains],
  ['sameas', (value, other) => value === other],
]);

export function predicate(name: string): Predicate {
  const found = PREDICATES.get(name);
  if (found === undefined) throw new ChatTemplateSyntaxError(`there is no test named "${name}"`);
  return found;
}

function isIterable(value: Value): boolean {
  return Array.isArray(value) || value instanceof Dict || isText(value) || value instanceof Undefined;
}

function integer(value: Value, name: string): number {
  if (typeof value === 'number') return value;
  throw new ChatTemplateValueError(`the test ${name} needs an integer, not ${typeName(value)}`);
}

function hasCase(text: string): boolean {
  return text.toLowerCase() !== text.toUpperCase();
}
