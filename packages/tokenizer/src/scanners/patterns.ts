import { DeepseekV3Scanner } from './deepseek-v3-scanner.js';
import { Cl100kScanner, Gpt2Scanner } from './gpt-scanner.js';
import type { Scanner } from './scanner.js';

export const GPT2_PATTERN = String.raw`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`;

const CONTRACTIONS = String.raw`(?i:'s|'t|'re|'ve|'m|'ll|'d)`;
const CONTRACTIONS_LONG = String.raw`(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])`;

function cl100k(digits: string, contractions = CONTRACTIONS): string {
  return (
    contractions + String.raw`|[^\r\n\p{L}\p{N}]?\p{L}+|${digits}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
  );
}

export const LLAMA3_PATTERN = cl100k(String.raw`\p{N}{1,3}`);
export const QWEN2_PATTERN = cl100k(String.raw`\p{N}`);

/** DeepSeek-V3's splits. Files write the range's ends and the line breaks as characters; both forms occur. */
export const DEEPSEEK_V3_PATTERNS = [
  String.raw`\p{N}{1,3}`,
  '[一-龥\u3040-ゟ゠-ヿ]+',
  '[!"#$%&\'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+',
] as const;

/** DeepSeek LLM's splits: line breaks, words of alphabetic scripts, punctuation, blanks at the end, CJK, numbers. */
export const DEEPSEEK_LLM_PATTERNS = [
  '[\r\n]',
  '\\s?[A-Za-z\u00b5\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01ba\u01bc-\u01bf\u01c4-\u0293\u0295-\u02af\u0370-\u0373\u0376\u0377\u037b-\u037d\u037f\u0386\u0388-\u038a\u038c\u038e-\u03a1\u03a3-\u03f5\u03f7-\u0481\u048a-\u052f\u0531-\u0556\u10a0-\u10c5\u13a0-\u13f5\u13f8-\u13fd\u1c90-\u1cba\u1cbd-\u1cbf\u1d00-\u1d2b\u1d6b-\u1d77\u1d79-\u1d9a\u1e00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-\u1f57\u1f59\u1f5b\u1f5d\u1f5f-\u1f7d\u1f80-\u1fb4\u1fb6-\u1fbc\u1fbe\u1fc2-\u1fc4\u1fc6-\u1fcc\u1fd0-\u1fd3\u1fd6-\u1fdb\u1fe0-\u1fec\u1ff2-\u1ff4\u1ff6-\u1ffc\u2102\u2107\u210a-\u2113\u2115\u2119-\u211d\u2124\u2126\u2128\u212a-\u212d\u212f-\u2134\u2139\u213c-\u213f\u2145-\u2149\u214e\u2183\u2184\u2c00-\u2c7b\u2c7e-\u2ce4\u2ceb-\u2cee\u2cf2\u2cf3\ua640-\ua66d\ua680-\ua69b\ua722-\ua76f\ua771-\ua787\ua78b-\ua78e\uab70-\uabbf\ufb00-\ufb06\ufb13-\ufb17\uff21-\uff3a\uff41-\uff5a\u{10400}-\u{1044f}\u{104b0}-\u{104d3}\u{104d8}-\u{104fb}\u{10c80}-\u{10cb2}\u{10cc0}-\u{10cf2}\u{118a0}-\u{118df}\u{1e900}-\u{1e943}]+',
  '\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+',
  '\\s+$',
  '[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+',
  '\\p{N}+',
] as const;

/** DeepSeek Coder's splits. */
export const DEEPSEEK_CODER_PATTERNS = [
  '[\r\n]',
  '\\s?\\p{L}+',
  '\\s?\\p{P}+',
  '[一-龥ࠀ-一가-\ud7ff]+',
  '\\p{N}',
] as const;

/** Mistral's Tekken: words split where a lower-case letter meets an upper-case one. */
export const TEKKEN_PATTERN = String.raw`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`;

/** o200k: as Tekken, with contractions and numbers of three. */
export const GPT4O_PATTERN = String.raw`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`;

/** Kimi K2: o200k with runs of Han apart. */
export const KIMI_K2_PATTERN = String.raw`[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`;

/** Qwen 3.5: Qwen2 with marks as parts of words. */
export const QWEN35_PATTERN = String.raw`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`;

type Create = () => Scanner;

/** Scanners by the exact patterns (isolated splits, in order) that they stand for. */
const SCANNERS: ReadonlyMap<string, Create> = new Map<string, Create>([
  [key([GPT2_PATTERN]), () => new Gpt2Scanner()],
  [key([LLAMA3_PATTERN]), () => new Cl100kScanner({ maxDigits: 3 })],
  [key([QWEN2_PATTERN]), () => new Cl100kScanner({ maxDigits: 1 })],
  [key([QWEN35_PATTERN]), () => new Cl100kScanner({ maxDigits: 1, marksAreLetters: true })],
  [key(DEEPSEEK_V3_PATTERNS), () => new DeepseekV3Scanner()],
]);

function key(patterns: readonly string[]): string {
  // Line breaks and their escapes are the same inside a pattern.
  return patterns.map((p) => p.replaceAll('\r', '\\r').replaceAll('\n', '\\n')).join('\u0000');
}

/** The scanner for a sequence of isolated splits, if there is a hand-written one. */
export function scannerFor(patterns: readonly string[]): Scanner | undefined {
  const canonical = patterns.map((p) => p.replace(CONTRACTIONS_LONG, CONTRACTIONS));
  return SCANNERS.get(key(canonical))?.();
}
