import type { ArgumentReader } from './arguments.js';
import type { Run } from './run.js';
import type { Value } from './values.js';

export type Filter = (value: Value, args: ArgumentReader, run: Run) => Value;
