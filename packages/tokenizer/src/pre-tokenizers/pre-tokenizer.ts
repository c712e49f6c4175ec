/** Cuts normalised text into the pieces that the model sees one by one. Pieces are appended to `out`. */
export type PreTokenizer = (piece: string, context: PieceContext, out: string[]) => void;

/** What a pre-tokenizer may know about a piece beyond its text. */
export interface PieceContext {
  /** Whether the piece stands at the very start of the encoded text. */
  readonly atStart: boolean;
}

const INSIDE: PieceContext = { atStart: false };

/** Applies pre-tokenizers in order, each to every piece that the one before gave. */
export function sequence(steps: readonly PreTokenizer[]): PreTokenizer {
  return (piece, context, out) => {
    let pieces = [piece];
    for (const step of steps) {
      const next: string[] = [];
      for (let i = 0; i < pieces.length; i++) step(pieces[i]!, i === 0 ? context : INSIDE, next);
      pieces = next;
    }
    for (const result of pieces) out.push(result);
  };
}
