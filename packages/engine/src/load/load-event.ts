/** What happens while an engine loads. */
export type LoadEvent =
  | { readonly stage: 'download'; readonly file: string; readonly loadedBytes: number; readonly totalBytes: number }
  | { readonly stage: 'weights'; readonly name: string; readonly loadedBytes: number; readonly totalBytes: number };
