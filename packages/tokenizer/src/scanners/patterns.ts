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
  '\\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-ώᾀ-ᾴᾶ-ᾼιῂ-ῄῆ-ῌῐ-ΐῖ-Ίῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤΩℨK-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+',
  '\\s?[!-/:-~！-／：-～‘-‟\u3000-。]+',
  '\\s+$',
  '[一-龥ࠀ-一가-\ud7ff]+',
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
