import { TokenizerFormatError, UnsupportedTokenizerError } from '../errors.js';
import { array, isObject, object, string, tokenId } from '../json/access.js';

/** Ids that are put around one encoded sequence when special tokens are asked for. */
export interface SpecialFrame {
  readonly prefix: readonly number[];
  readonly suffix: readonly number[];
}

const NOTHING: SpecialFrame = { prefix: [], suffix: [] };

/** What a `post_processor` section puts around a single sequence. */
export function frameFromJson(value: unknown, path: string): SpecialFrame {
  if (value === null || value === undefined) return NOTHING;
  const spec = object(value, path);
  const type = string(spec['type'], `${path}.type`);
  switch (type) {
    case 'ByteLevel':
      return NOTHING; // only concerns offsets
    case 'TemplateProcessing':
      return template(spec['single'], spec['special_tokens'], path);
    case 'BertProcessing':
    case 'RobertaProcessing':
      return {
        prefix: [pairId(spec['cls'], `${path}.cls`)],
        suffix: [pairId(spec['sep'], `${path}.sep`)],
      };
    case 'Sequence': {
      let frame = NOTHING;
      const parts = array(spec['processors'], `${path}.processors`);
      for (let i = 0; i < parts.length; i++) {
        const inner = frameFromJson(parts[i], `${path}.processors[${i}]`);
        frame = { prefix: [...inner.prefix, ...frame.prefix], suffix: [...frame.suffix, ...inner.suffix] };
      }
      return frame;
    }
  }
  throw new UnsupportedTokenizerError('post_processor', type, [
    'ByteLevel',
    'TemplateProcessing',
    'BertProcessing',
    'RobertaProcessing',
    'Sequence',
  ]);
}

/** `[token, id]` */
function pairId(value: unknown, path: string): number {
  return tokenId(array(value, path)[1], `${path}[1]`);
}

function template(single: unknown, specials: unknown, path: string): SpecialFrame {
  const table = object(specials ?? {}, `${path}.special_tokens`);
  const prefix: number[] = [];
  const suffix: number[] = [];
  let seen = 0;
  array(single, `${path}.single`).forEach((part, i) => {
    const at = `${path}.single[${i}]`;
    const spec = object(part, at);
    if (isObject(spec['Sequence'])) {
      seen++;
      return;
    }
    const name = string(object(spec['SpecialToken'], at)['id'], `${at}.SpecialToken.id`);
    const entry = object(table[name], `${path}.special_tokens[${JSON.stringify(name)}]`);
    const ids = array(entry['ids'], `${path}.special_tokens.ids`).map((id) => tokenId(id, `${at}.ids`));
    (seen === 0 ? prefix : suffix).push(...ids);
  });
  if (seen !== 1) throw new TokenizerFormatError(`${path}.single`, `expected one sequence, found ${seen}`);
  return { prefix, suffix };
}
