import { alphabetBytes } from '../bpe/byte-alphabet.js';
import { utf8 } from '../unicode/utf16.js';
import type { DecoderStep } from './chain-decoder.js';
import { byteTokenValue } from './sentencepiece-decoder.js';
import { decodeUtf8 } from './utf8-text.js';

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export const fuse: DecoderStep = (tokens) => [tokens.join('')];

export const byteLevelStep: DecoderStep = (tokens) => {
  const parts = tokens.map((token) => alphabetBytes(token) ?? utf8(token));
  const joined = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return [decodeUtf8(joined)];
};

export const byteFallback: DecoderStep = (tokens) => {
  const result: string[] = [];
  let run: number[] = [];
  const endRun = () => {
    if (run.length === 0) return;
    try {
      result.push(strict.decode(Uint8Array.from(run)));
    } catch {
      for (let i = 0; i < run.length; i++) result.push('\ufffd');
    }
    run = [];
  };
  for (const token of tokens) {
    const value = byteTokenValue(token);
    if (value >= 0) {
      run.push(value);
    } else {
      endRun();
      result.push(token);
    }
  }
  endRun();
  return result;
};

/** Removes up to `start` copies of the character `content` from the start of every token and `stop` from its end. */
export function stripStep(content: string, start: number, stop: number): DecoderStep {
  if (content === '') return (tokens) => tokens;
  return (tokens) =>
    tokens.map((token) => {
      let from = 0;
      let to = token.length;
      for (let i = 0; i < start && token.startsWith(content, from); i++) from += content.length;
      for (let i = 0; i < stop && to > from && token.endsWith(content, to); i++) to -= content.length;
      return token.slice(from, Math.max(from, to));
    });
}

/** Joins continuation pieces; `cleanUp` also takes the spaces from before punctuation. */
export function wordPiece(prefix: string, cleanUp: boolean): DecoderStep {
  return (tokens) =>
    tokens.map((token, i) => {
      let text = token;
      if (i > 0) text = token.startsWith(prefix) ? token.slice(prefix.length) : ` ${token}`;
      return cleanUp ? cleanUpSpaces(text) : text;
    });
}

/** English clean-up of spaces, as the reference applies it. */
export function cleanUpSpaces(text: string): string {
  return text
    .replaceAll(' .', '.')
    .replaceAll(' ?', '?')
    .replaceAll(' !', '!')
    .replaceAll(' ,', ',')
    .replaceAll(" ' ", "'")
    .replaceAll(" n't", "n't")
    .replaceAll(" 'm", "'m")
    .replaceAll(' do not', " don't")
    .replaceAll(" 's", "'s")
    .replaceAll(" 've", "'ve")
    .replaceAll(" 're", "'re");
}

export function bpeSuffix(suffix: string): DecoderStep {
  return (tokens) =>
    tokens.map((token, i) => (suffix === '' ? token : token.replaceAll(suffix, i === tokens.length - 1 ? '' : ' ')));
}

/** Connectionist temporal classification: repeats collapse, the padding vanishes. */
export function ctc(padToken: string, delimiter: string, cleanUp: boolean): DecoderStep {
  return (tokens) =>
    tokens
      .filter((token, i) => i === 0 || token !== tokens[i - 1])
      .map((token) => {
        let text = token.replaceAll(padToken, '');
        if (cleanUp) text = cleanUpSpaces(text).replaceAll(delimiter, ' ');
        return text;
      })
      .filter((text) => text !== '');
}
