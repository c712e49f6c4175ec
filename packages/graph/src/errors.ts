/** What went wrong with a graph, where, and what was expected there. */
export interface GraphErrorDetails {
  /** Node that the error is about. */
  readonly node?: string | undefined;
  readonly op?: string | undefined;
  /** Operand, attribute or tensor. */
  readonly operand?: string | undefined;
  readonly expected?: string | undefined;
  readonly actual?: string | undefined;
}

/** A graph that cannot be built. */
export class GraphError extends Error {
  override readonly name = 'GraphError';
  readonly node: string | undefined;
  readonly op: string | undefined;
  readonly operand: string | undefined;
  readonly expected: string | undefined;
  readonly actual: string | undefined;

  constructor(message: string, details: GraphErrorDetails = {}) {
    super(message);
    this.node = details.node;
    this.op = details.op;
    this.operand = details.operand;
    this.expected = details.expected;
    this.actual = details.actual;
  }
}

/** The error of an operand that does not fit: names node, op, operand, expectation and finding. */
export function operandError(node: string, op: string, operand: string, expected: string, actual: string): GraphError {
  return new GraphError(`${node} (${op}): ${operand} must be ${expected}, but is ${actual}.`, {
    node,
    op,
    operand,
    expected,
    actual,
  });
}
