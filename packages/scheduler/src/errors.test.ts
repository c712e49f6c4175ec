import { expect, test } from 'vitest';
import * as api from './index.js';
import { SchedulerError } from './errors.js';

test('every error spells its name, which a bundler that renames classes cannot change', () => {
  const classes = Object.entries(api).filter(([name]) => name.endsWith('Error'));
  expect(classes.length).toBeGreaterThan(3);
  for (const [name, value] of classes) {
    const Renamed = { [`_${name}`]: class extends (value as new (...args: unknown[]) => SchedulerError) {} }[
      `_${name}`
    ]!;
    const error = new Renamed('field', 1, 2, 3);
    expect(error.name).toBe(name);
    expect(error).toBeInstanceOf(SchedulerError);
  }
});
