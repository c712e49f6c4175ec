import type { SpecialFrame } from '../post-processors/post-processor.js';
import type { SpecialToken, SpecialTokens } from '../special-tokens.js';
import type { ChatTemplateSource } from '../tokenizer-parts.js';
import type { AddedToken, Vocabulary } from '../vocabulary.js';
import { array, boolean, isObject, type JsonObject, string, tokenId } from './access.js';

/** What tokenizer_config.json adds to tokenizer.json. */
export interface TokenizerConfig {
  /** Tokens of `added_tokens_decoder`. */
  readonly addedTokens: readonly AddedToken[];
  readonly chatTemplate: ChatTemplateSource | undefined;
  specialTokens(vocabulary: Vocabulary, unknownToken: string | undefined): SpecialTokens;
  /** The frame with the BOS and EOS that `add_bos_token` and `add_eos_token` ask for, never twice. */
  completeFrame(frame: SpecialFrame, tokens: SpecialTokens): SpecialFrame;
}

/** Turn enders of the known families, in the order in which they are looked for. */
const END_OF_TURN = ['<|eot_id|>', '<|im_end|>', '<end_of_turn>', '<|end|>', '<|eot|>', '<|endofturn|>', '<EOT>'];

const FIM = {
  fimPrefix: ['<｜fim▁begin｜>', '<|fim_prefix|>', '<fim_prefix>', '<fim-prefix>', '▁<PRE>', '[PREFIX]'],
  fimSuffix: ['<｜fim▁hole｜>', '<|fim_suffix|>', '<fim_suffix>', '<fim-suffix>', '▁<SUF>', '[SUFFIX]'],
  fimMiddle: ['<｜fim▁end｜>', '<|fim_middle|>', '<fim_middle>', '<fim-middle>', '▁<MID>', '[MIDDLE]'],
} as const;

export function readConfig(config: JsonObject): TokenizerConfig {
  return {
    addedTokens: readAddedTokens(config['added_tokens_decoder']),
    chatTemplate: readChatTemplate(config['chat_template']),
    specialTokens: (vocabulary, unknownToken) => ({
      ...fromText(vocabulary, 'bos', tokenText(config['bos_token'])),
      ...fromText(vocabulary, 'eos', tokenText(config['eos_token'])),
      ...fromText(vocabulary, 'pad', tokenText(config['pad_token'])),
      ...fromText(vocabulary, 'unk', tokenText(config['unk_token']) ?? unknownToken),
      ...fromText(vocabulary, 'sep', tokenText(config['sep_token'])),
      ...fromText(vocabulary, 'cls', tokenText(config['cls_token'])),
      ...fromText(vocabulary, 'mask', tokenText(config['mask_token'])),
      ...knownTokens(vocabulary),
    }),
    completeFrame(frame, tokens) {
      const { bos, eos } = tokens;
      const needsBos = boolean(config['add_bos_token'], 'add_bos_token', false) && bos !== undefined;
      const needsEos = boolean(config['add_eos_token'], 'add_eos_token', false) && eos !== undefined;
      return {
        prefix: needsBos && !frame.prefix.includes(bos.id) ? [bos.id, ...frame.prefix] : frame.prefix,
        suffix: needsEos && !frame.suffix.includes(eos.id) ? [...frame.suffix, eos.id] : frame.suffix,
      };
    },
  };
}

/** Tokens that no field names but whose text is known: the end of a turn, the marks of fill-in-the-middle. */
export function knownTokens(vocabulary: Vocabulary): SpecialTokens {
  const added = new Map(vocabulary.added.map((token) => [token.content, token.id]));
  const first = (names: readonly string[]): SpecialToken | undefined => {
    for (const token of names) {
      const id = added.get(token);
      if (id !== undefined) return { id, token };
    }
    return undefined;
  };
  const result: Record<string, SpecialToken> = {};
  for (const [name, names] of Object.entries({ eot: END_OF_TURN, ...FIM })) {
    const found = first(names);
    if (found !== undefined) result[name] = found;
  }
  return result;
}

function fromText(vocabulary: Vocabulary, name: keyof SpecialTokens, token: string | undefined): SpecialTokens {
  const id = token === undefined ? undefined : vocabulary.idOf(token);
  return id === undefined ? {} : { [name]: { id, token: token! } };
}

/** A token is written as its text or as an object with `content`. */
function tokenText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  return isObject(value) && typeof value['content'] === 'string' ? value['content'] : undefined;
}

function readAddedTokens(value: unknown): AddedToken[] {
  if (!isObject(value)) return [];
  return Object.entries(value).map(([id, spec]) => {
    const path = `added_tokens_decoder["${id}"]`;
    const fields = isObject(spec) ? spec : {};
    const special = boolean(fields['special'], `${path}.special`, false);
    return {
      id: tokenId(Number(id), path),
      content: string(fields['content'], `${path}.content`),
      special,
      normalized: boolean(fields['normalized'], `${path}.normalized`, !special),
      lstrip: boolean(fields['lstrip'], `${path}.lstrip`, false),
      rstrip: boolean(fields['rstrip'], `${path}.rstrip`, false),
      singleWord: boolean(fields['single_word'], `${path}.single_word`, false),
    };
  });
}

function readChatTemplate(value: unknown): ChatTemplateSource | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string') return value;
  return array(value, 'chat_template').map((entry, i) => {
    const fields = isObject(entry) ? entry : {};
    return {
      name: string(fields['name'], `chat_template[${i}].name`),
      template: string(fields['template'], `chat_template[${i}].template`),
    };
  });
}
