/** Lower case without context (a capital sigma never becomes a final one), as Rust's `char::to_lowercase`. */
export function lowercase(text: string): string {
  if (!text.includes('\u03a3')) return text.toLowerCase();
  return text
    .split('\u03a3')
    .map((part) => part.toLowerCase())
    .join('\u03c3');
}
