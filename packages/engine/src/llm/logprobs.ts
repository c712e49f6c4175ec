import type { Tokenizer } from '@dsi/tokenizer';
import type { WireLogprobs } from '../core/protocol.js';

/** A token and its log-probability. */
export interface ScoredToken {
  readonly id: number;
  /** Its bytes as text; U+FFFD where they are only a part of a character. */
  readonly token: string;
  /** The true bytes. */
  readonly bytes: Uint8Array;
  readonly logprob: number;
}

export interface TokenLogprob extends ScoredToken {
  /** The best tokens at this place, descending; as many as were asked for. */
  readonly top: readonly ScoredToken[];
}

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

/** Adds text and bytes. Ids without a token (all, when there is no tokenizer) have no bytes. */
export function withBytes(wire: WireLogprobs, tokenizer: Tokenizer | undefined): TokenLogprob {
  const scored = (id: number, logprob: number): ScoredToken => {
    const bytes = tokenizer && id < tokenizer.vocabSize ? tokenizer.tokenBytes(id) : new Uint8Array(0);
    return { id, token: utf8.decode(bytes), bytes, logprob };
  };
  return {
    ...scored(wire.id, wire.logprob),
    top: wire.topIds.map((id, i) => scored(id, wire.topLogprobs[i]!)),
  };
}
