/** Rewrites text before it is cut into pieces. */
export type Normalizer = (text: string) => string;

/** Applies several normalizers in order. */
export function sequence(normalizers: readonly Normalizer[]): Normalizer {
  if (normalizers.length === 1) return normalizers[0]!;
  return (text) => {
    for (const normalize of normalizers) text = normalize(text);
    return text;
  };
}
