import { compileExpression } from './compile-expression.js';
import { ChatTemplateSyntaxError, ChatTemplateValueError } from './errors.js';
import type { Run, Scope } from './run.js';
import type { Node } from './syntax.js';
import { iterate, Namespace, typeName, type Value } from './values.js';

/** An assignment to a name, a tuple of names, or an attribute of a namespace. */
export function compileTarget(target: Node): (scope: Scope, value: Value, run: Run) => void {
  if (target.type === 'Identifier') {
    const name = target['value'] as string;
    return (scope, value) => scope.set(name, value);
  }
  if (target.type === 'TupleLiteral') {
    const parts = (target['value'] as Node[]).map(compileTarget);
    return (scope, value, run) => {
      const items = iterate(value);
      if (items.length !== parts.length) {
        throw new ChatTemplateValueError(`cannot unpack ${items.length} values into ${parts.length} names`);
      }
      parts.forEach((part, i) => part(scope, items[i]!, run));
    };
  }
  const property = target['property'] as Node | undefined;
  if (target.type !== 'MemberExpression' || target['computed'] === true || typeof property?.['value'] !== 'string') {
    throw new ChatTemplateSyntaxError(`cannot assign to "${target.type}"`);
  }
  const object = compileExpression(target['object'] as Node);
  const name = property['value'];
  return (scope, value, run) => {
    const holder = object(scope, run);
    if (!(holder instanceof Namespace)) {
      throw new ChatTemplateValueError(`cannot set "${name}" of ${typeName(holder)}: only namespaces can change`);
    }
    holder.entries.set(name, value);
  };
}
