import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ChatTemplate, type ChatTemplateOptions } from './chat-template/chat-template.js';
import { TokenizerError } from './errors.js';
import { Tokenizer } from './tokenizer.js';
import type { ChatTemplateSource } from './tokenizer-parts.js';

/** A tokenizer with the chat template that came with it. */
export interface LoadedTokenizer {
  readonly tokenizer: Tokenizer;
  /** Undefined when the directory holds no template. */
  readonly chatTemplate: ChatTemplate | undefined;
}

/** Larger description files are refused before they are read into memory. */
const MAX_FILE_BYTES = 256 * 1024 * 1024;

/**
 * Reads a tokenizer from a model directory: `tokenizer.json`, and where they exist `tokenizer_config.json` and
 * `chat_template.jinja` or `chat_template.json` with `additional_chat_templates/*.jinja`, which take precedence over
 * the template in the configuration.
 * @throws TokenizerError when `tokenizer.json` is missing, and what `Tokenizer.fromJson` and `ChatTemplate` throw
 */
export async function loadTokenizer(directory: string, options: ChatTemplateOptions = {}): Promise<LoadedTokenizer> {
  const [json, config] = await Promise.all([
    readText(join(directory, 'tokenizer.json')),
    readText(join(directory, 'tokenizer_config.json')),
  ]);
  if (json === undefined) {
    throw new TokenizerError(
      `${directory} has no tokenizer.json: take the directory of a Hugging Face model, or a GGUF file's own vocabulary`,
    );
  }
  const tokenizer = Tokenizer.fromJson(json, config);
  const source = (await readTemplates(directory)) ?? tokenizer.chatTemplate;
  return {
    tokenizer,
    chatTemplate:
      source === undefined
        ? undefined
        : new ChatTemplate(source, { specialTokens: tokenizer.specialTokens, ...options }),
  };
}

async function readTemplates(directory: string): Promise<ChatTemplateSource | undefined> {
  const main = (await readText(join(directory, 'chat_template.jinja'))) ?? (await readJsonTemplate(directory));
  if (main === undefined) return undefined;
  const folder = join(directory, 'additional_chat_templates');
  const names = (await listDirectory(folder)).filter((name) => name.endsWith('.jinja')).toSorted();
  const more = await Promise.all(
    names.map(async (name) => ({
      name: name.slice(0, -'.jinja'.length),
      template: (await readText(join(folder, name))) ?? '',
    })),
  );
  return more.length === 0 ? main : [{ name: 'default', template: main }, ...more];
}

async function readJsonTemplate(directory: string): Promise<string | undefined> {
  const text = await readText(join(directory, 'chat_template.json'));
  if (text === undefined) return undefined;
  const value = JSON.parse(text) as { readonly chat_template?: unknown };
  return typeof value.chat_template === 'string' ? value.chat_template : undefined;
}

/** The file's text, or undefined when there is no such file. */
async function readText(path: string): Promise<string | undefined> {
  try {
    const { size } = await stat(path);
    if (size > MAX_FILE_BYTES) {
      throw new TokenizerError(`${path} has ${size} bytes, above the limit of ${MAX_FILE_BYTES}`);
    }
    return await readFile(path, 'utf8');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

async function listDirectory(path: string): Promise<string[]> {
  try {
    return await readdir(path);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  const code = (error as { readonly code?: unknown }).code;
  return code === 'ENOENT' || code === 'ENOTDIR';
}
