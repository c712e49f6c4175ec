import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { dummyModel, type ModelDefinition } from '@dsi/models';
import { EngineConfigError } from '../errors/lifecycle-errors.js';
import type { ResolvedEngineOptions } from './engine-options.js';

const maxConfigBytes = 16 * 2 ** 20;

/**
 * A model of random weights in the shape that a config.json gives (`loadFormat: 'dummy'`).
 * @returns the configuration file and the model
 * @throws EngineConfigError when there is no usable config.json; the errors of @dsi/models for a shape that it does not know
 */
export async function dummyDefinition({
  model,
  dummyFormat,
}: Pick<ResolvedEngineOptions, 'model' | 'dummyFormat'>): Promise<{ path: string; definition: ModelDefinition }> {
  const file = await configFile(model);
  const text = await readFile(file, 'utf8');
  let config: unknown;
  try {
    config = JSON.parse(text);
  } catch (error) {
    fail(model, `${file} is not valid JSON: ${(error as Error).message}`);
  }
  if (typeof config !== 'object' || config === null || Array.isArray(config)) {
    fail(model, `${file} must hold an object`);
  }
  const options = dummyFormat === undefined ? {} : { format: dummyFormat };
  return { path: file, definition: dummyModel(config as Record<string, unknown>, options) };
}

async function configFile(model: string): Promise<string> {
  const absolute = path.resolve(model);
  const entry = await stat(absolute).catch(() => undefined);
  const file = entry?.isDirectory() ? path.join(absolute, 'config.json') : absolute;
  const found = await stat(file).catch(() => undefined);
  if (!found?.isFile()) {
    fail(model, "loadFormat 'dummy' takes a directory with a config.json, or such a file: there is none");
  }
  if (found.size > maxConfigBytes) fail(model, `${file} has ${found.size} bytes, more than ${maxConfigBytes}`);
  return file;
}

function fail(value: string, limit: string): never {
  throw new EngineConfigError({ field: 'model', value, limit });
}
