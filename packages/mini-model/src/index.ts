import { fileURLToPath } from 'node:url';

/** A model that ships with this package, as a GGUF file. */
export interface MiniModel {
  readonly name: string;
  /** Absolute path of the GGUF file. */
  readonly path: string;
  /** Architecture in Hugging Face's terms. */
  readonly architecture: string;
  readonly parameters: number;
}

function model(name: string, architecture: string, parameters: number): MiniModel {
  return { name, path: fileURLToPath(new URL(`../models/${name}.gguf`, import.meta.url)), architecture, parameters };
}

/** 42.9 M parameters (31.1 M active a token): MLA, sigmoid-routed experts with a shared one. What `dsi serve` loads by default. */
export const dsiMiniMoe = model('dsi-mini-moe', 'DeepseekV3ForCausalLM', 42_858_336);

/** 10.1 M parameters, with the same vocabulary: a draft model for {@link dsiMiniMoe}. */
export const dsiMiniDense = model('dsi-mini-dense', 'Qwen2ForCausalLM', 10_098_944);

/** By name. */
export const miniModels: ReadonlyMap<string, MiniModel> = new Map([dsiMiniMoe, dsiMiniDense].map((m) => [m.name, m]));
