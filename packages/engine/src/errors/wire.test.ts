import { expect, test } from 'vitest';
import { BackendUnavailableError, RemoteError } from './lifecycle-errors.js';
import { ContextLengthError, InvalidParameterError, KvCapacityError } from './request-errors.js';
import { fromWire, toWire } from './wire.js';

const across = (error: unknown) => fromWire(structuredClone(toWire(error)));

test('our errors keep class, fields and message', () => {
  const errors = [
    new ContextLengthError({ promptTokens: 5, maxTokens: 6, maxModelLen: 7 }),
    new KvCapacityError({ neededTokens: 5, capacityTokens: 4 }),
    new InvalidParameterError({ field: 'n', value: 3n, limit: 'at most 2' }),
    new BackendUnavailableError({ backend: 'cpu', candidates: [{ name: 'a', reason: 'b' }] }),
  ];
  for (const error of errors) {
    const arrived = across(error);
    expect(arrived).toBeInstanceOf(error.constructor);
    expect(arrived.message).toBe(error.message);
    expect({ ...arrived }).toEqual({ ...error });
  }
});

test('errors of others keep name, code, message and fields', () => {
  const foreign = Object.assign(new TypeError('odd'), { code: 'ODD', file: 'x.gguf', check: () => 1 });
  const arrived = across(foreign);
  expect(arrived).toBeInstanceOf(RemoteError);
  expect(arrived).toMatchObject({ name: 'TypeError', code: 'ODD', message: 'odd', fields: { file: 'x.gguf' } });
  expect(across('text')).toMatchObject({ message: 'text', code: 'unknown' });
});
