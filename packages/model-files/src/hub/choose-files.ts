import { HubNotFoundError } from './errors.js';

const splitSuffix = /-\d{5}-of-\d{5}(?=\.gguf$)/;

/** Files that a Hugging Face model directory needs, by name. */
function belongsToModel(path: string): boolean {
  if (path.includes('/')) return false;
  return (
    path.endsWith('.safetensors') ||
    path.endsWith('.safetensors.index.json') ||
    [
      'config.json',
      'generation_config.json',
      'tokenizer.json',
      'tokenizer_config.json',
      'chat_template.jinja',
    ].includes(path)
  );
}

/** All files of the same split GGUF, or the file alone. */
function withSiblings(paths: readonly string[], first: string): string[] {
  if (!splitSuffix.test(first)) return [first];
  const stem = first.replace(splitSuffix, '');
  return paths.filter((p) => splitSuffix.test(p) && p.replace(splitSuffix, '') === stem).toSorted();
}

/** Whether a GGUF file's name carries the quantisation, as in `model-Q4_K_M.gguf` or `Q4_K_M/model-00001-of-2.gguf`. */
function namesQuantization(path: string, quantization: string): boolean {
  const wanted = quantization.toUpperCase();
  return path
    .replace(splitSuffix, '')
    .replace(/\.gguf$/i, '')
    .toUpperCase()
    .split(/[/.-]/)
    .includes(wanted);
}

/** The quantisation that a repository of GGUF files is taken in when none is named. */
const preferred = ['Q4_K_M', 'Q4_0', 'Q8_0', 'F16', 'BF16'];

/**
 * Which files to fetch: with a quantisation, the GGUF file that names it (all parts of a split one); else the
 * safetensors model with its configuration, or for a repository of GGUF files only, Q4_K_M or the only one.
 *
 * @returns the files and, for GGUF, the one to open
 */
export function chooseFiles(
  repo: string,
  paths: readonly string[],
  quantization: string | undefined,
): { readonly files: string[]; readonly open?: string } {
  // Vision projectors and importance matrices are no language models.
  const ggufs = paths.filter((p) => p.endsWith('.gguf') && !/(^|\/)mmproj|imatrix/i.test(p)).toSorted();
  const gguf = (wanted: string): string | undefined => ggufs.find((p) => namesQuantization(p, wanted));
  if (quantization !== undefined) {
    const found = gguf(quantization);
    if (found === undefined)
      throw new HubNotFoundError(
        `${repo} has no GGUF file for ${quantization}. It has: ${ggufs.join(', ') || 'no GGUF files'}.`,
        { repo },
      );
    const files = withSiblings(ggufs, found);
    return { files, open: files[0]! };
  }
  if (paths.some((p) => p.endsWith('.safetensors') && !p.includes('/'))) return { files: paths.filter(belongsToModel) };
  const first = preferred.map(gguf).find((p) => p !== undefined) ?? ggufs[0];
  if (first === undefined) throw new HubNotFoundError(`${repo} has neither safetensors nor GGUF files.`, { repo });
  const files = withSiblings(ggufs, first);
  return { files, open: files[0]! };
}
