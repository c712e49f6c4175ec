/**
 * Text with the knowledge of which parts come from the conversation rather than from the template. Operations keep it:
 * a slice of content is content, a concatenation marks exactly the parts that were marked. Where an operation gives text
 * that cannot be followed character by character, the whole result is marked if any of its input was.
 */
export class MarkedText {
  /**
   * @param spans half-open marked ranges of `text`, flat (start, end, start, end, …), ascending, disjoint, not empty
   */
  constructor(
    readonly text: string,
    readonly spans: readonly number[],
  ) {}
}

/** A string value of a template: plain text is the template's own. */
export type Text = string | MarkedText;

export function isText(value: unknown): value is Text {
  return typeof value === 'string' || value instanceof MarkedText;
}

export function plain(text: Text): string {
  return typeof text === 'string' ? text : text.text;
}

export function isMarked(text: Text): boolean {
  return typeof text !== 'string' && text.spans.length > 0;
}

/** All of `text` as content. */
export function mark(text: string): Text {
  return text === '' ? text : new MarkedText(text, [0, text.length]);
}

/** `text`, marked as a whole if `source` is marked anywhere. */
export function markLike(text: string, ...sources: readonly Text[]): Text {
  return sources.some(isMarked) ? mark(text) : text;
}

/** UTF-16 slice. */
export function slice(value: Text, start: number, end = plain(value).length): Text {
  if (typeof value === 'string') return value.slice(start, end);
  const text = value.text.slice(start, end);
  const spans: number[] = [];
  for (let i = 0; i < value.spans.length; i += 2) {
    const from = Math.max(value.spans[i]!, start);
    const to = Math.min(value.spans[i + 1]!, end);
    if (from < to) spans.push(from - start, to - start);
  }
  return spans.length === 0 ? text : new MarkedText(text, spans);
}

/** Collects parts into one text; linear in their total size. */
export class TextBuilder {
  private readonly parts: string[] = [];
  private readonly spans: number[] = [];
  length = 0;

  add(value: Text): void {
    const text = plain(value);
    if (text === '') return;
    if (typeof value !== 'string') {
      for (let i = 0; i < value.spans.length; i += 2) {
        const from = value.spans[i]! + this.length;
        const to = value.spans[i + 1]! + this.length;
        if (this.spans.length > 0 && this.spans[this.spans.length - 1] === from) this.spans[this.spans.length - 1] = to;
        else this.spans.push(from, to);
      }
    }
    this.parts.push(text);
    this.length += text.length;
  }

  build(): Text {
    const text = this.parts.join('');
    return this.spans.length === 0 ? text : new MarkedText(text, this.spans);
  }
}

export function concat(...values: readonly Text[]): Text {
  if (values.every((value) => typeof value === 'string')) return values.join('');
  const builder = new TextBuilder();
  for (const value of values) builder.add(value);
  return builder.build();
}
