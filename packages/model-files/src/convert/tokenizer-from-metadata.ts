import type { GgufValue } from '../gguf/value.js';
import { preTokenizerRules } from './pre-tokenizer.js';

/** tokenizer.json and tokenizer_config.json of a byte-level BPE vocabulary; undefined for other vocabularies. */
export function tokenizerFromMetadata(
  metadata: ReadonlyMap<string, GgufValue>,
): { tokenizer: Record<string, unknown>; config: Record<string, unknown> } | undefined {
  const get = (key: string): GgufValue | undefined => metadata.get(`tokenizer.ggml.${key}`);
  const tokens = get('tokens');
  const types = get('token_type');
  const merges = get('merges');
  const rules = preTokenizerRules(String(get('pre')));
  if (get('model') !== 'gpt2' || rules === undefined) return undefined;
  if (!Array.isArray(tokens) || !Array.isArray(merges) || !(types instanceof Int32Array)) return undefined;
  const vocab: [string, number][] = [];
  const added: Record<string, unknown>[] = [];
  for (const [id, token] of (tokens as string[]).entries()) {
    const type = types[id];
    // Control and user-defined tokens; unused ones only fill the matrix up.
    if (type === 3 || type === 4)
      added.push({
        id,
        content: token,
        single_word: false,
        lstrip: false,
        rstrip: false,
        normalized: false,
        special: type === 3,
      });
    else if (type !== 5) vocab.push([token, id]);
  }
  const tokenText = (kind: string): string | undefined => {
    const id = get(`${kind}_token_id`);
    return typeof id === 'number' ? (tokens as string[])[id] : undefined;
  };
  const addBos = get('add_bos_token');
  const template = metadata.get('tokenizer.chat_template');
  return {
    tokenizer: {
      version: '1.0',
      added_tokens: added,
      normalizer: null,
      pre_tokenizer: {
        type: 'Sequence',
        pretokenizers: [...rules, { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false }],
      },
      post_processor: null,
      decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true },
      model: { type: 'BPE', fuse_unk: false, byte_fallback: false, vocab: Object.fromEntries(vocab), merges },
    },
    config: {
      tokenizer_class: 'PreTrainedTokenizerFast',
      bos_token: tokenText('bos'),
      eos_token: tokenText('eos'),
      pad_token: tokenText('padding'),
      unk_token: tokenText('unknown'),
      ...(typeof addBos === 'boolean' && { add_bos_token: addBos }),
      ...(typeof template === 'string' && { chat_template: template }),
    },
  };
}
