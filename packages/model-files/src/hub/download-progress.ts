/** How far a download is. */
export interface DownloadProgress {
  /** Path in the repository. */
  readonly file: string;
  /** Bytes of this file that are here, and its size. */
  readonly fileBytes: number;
  readonly fileSize: number;
  /** The same over all files of the download. */
  readonly doneBytes: number;
  readonly totalBytes: number;
}
