import type { Architecture } from './architectures/architecture.js';
import { deepseek } from './architectures/deepseek.js';
import { deepseekV2 } from './architectures/deepseek-v2.js';
import { deepseekV3 } from './architectures/deepseek-v3.js';
import { llama } from './architectures/llama.js';
import { mistral } from './architectures/mistral.js';
import { mixtral } from './architectures/mixtral.js';
import { phi3 } from './architectures/phi3.js';
import { qwen2 } from './architectures/qwen2.js';
import { qwen2Moe } from './architectures/qwen2-moe.js';
import { qwen3 } from './architectures/qwen3.js';
import { qwen3Moe } from './architectures/qwen3-moe.js';
import type { Fields } from './config/fields.js';
import { UnsupportedModelError } from './errors.js';

const architectures: readonly Architecture[] = [
  llama,
  mistral,
  mixtral,
  qwen2,
  qwen2Moe,
  qwen3,
  qwen3Moe,
  phi3,
  deepseek,
  deepseekV2,
  deepseekV3,
];

/** llama.cpp gives one name to several of our architectures; the metadata tells them apart. */
const ggufArchitectures: Readonly<Record<string, (fields: Fields) => Architecture>> = {
  llama: (fields) => (hasExperts(fields) ? mixtral : llama),
  qwen2: () => qwen2,
  qwen2moe: () => qwen2Moe,
  qwen3: () => qwen3,
  qwen3moe: () => qwen3Moe,
  phi3: () => phi3,
  deepseek: () => deepseek,
  // expert_gating_func: 1 softmax, 2 sigmoid; files older than the key hold V2 models.
  deepseek2: (fields) => (fields.raw('expert_gating_func') === 2 ? deepseekV3 : deepseekV2),
};

/** Names of all architectures, as {@link ModelConfig.architecture} has them. */
export const architectureNames: readonly string[] = architectures.map((a) => a.name);

export function architectureByName(name: string): Architecture {
  return find('architecture', name, (a) => a.name === name, architectureNames);
}

/** The architecture of a config.json: by `model_type`, else by the first entry of `architectures`. */
export function architectureOfHuggingFace(fields: Fields): Architecture {
  const modelType = fields.optionalString('model_type');
  if (modelType !== undefined) {
    const known = architectures.flatMap((a) => a.modelTypes);
    return find('model_type', modelType, (a) => a.modelTypes.includes(modelType), known);
  }
  const classes = fields.raw('architectures');
  const className = Array.isArray(classes) && typeof classes[0] === 'string' ? classes[0] : undefined;
  if (className === undefined) throw fields.error('model_type', undefined, 'a model type');
  const known = architectures.flatMap((a) => a.classNames);
  return find('model class', className, (a) => a.classNames.includes(className), known);
}

/** The architecture of `general.architecture`. */
export function architectureOfGguf(name: string, fields: Fields): Architecture {
  const choose = Object.hasOwn(ggufArchitectures, name) ? ggufArchitectures[name] : undefined;
  if (choose === undefined) {
    throw new UnsupportedModelError('GGUF architecture', name, Object.keys(ggufArchitectures));
  }
  return choose(fields);
}

function find(
  kind: string,
  name: string,
  matches: (architecture: Architecture) => boolean,
  known: readonly string[],
): Architecture {
  const found = architectures.find(matches);
  if (found === undefined) throw new UnsupportedModelError(kind, name, known);
  return found;
}

function hasExperts(fields: Fields): boolean {
  return fields.has('expert_count') && fields.raw('expert_count') !== 0;
}
