import type { GgufValue } from './gguf/value.js';

/** Where one tensor's bytes are. */
export interface TensorInfo {
  readonly name: string;
  /** A ggml type name for GGUF; F32, F16, BF16, F8_E4M3, I64, ... for safetensors. */
  readonly dtype: string;
  /** Row-major, outermost dimension first (GGUF's dimensions reversed). */
  readonly shape: readonly number[];
  /** Absolute path of the file that holds it. */
  readonly file: string;
  /** First byte in the file. */
  readonly offset: number;
  readonly byteLength: number;
}

/** An opened model. Tensor bytes are read on request; nothing but headers is held in memory. */
export interface ModelFiles {
  readonly kind: 'gguf' | 'safetensors';
  /** Absolute path of what was opened: a file, or a directory in Hugging Face layout. */
  readonly path: string;
  readonly tensors: ReadonlyMap<string, TensorInfo>;
  /** GGUF key-value pairs; empty for safetensors. */
  readonly metadata: ReadonlyMap<string, GgufValue>;
  /** config.json of a Hugging Face directory. */
  readonly config?: Record<string, unknown>;
  /** generation_config.json of a Hugging Face directory. */
  readonly generationConfig?: Record<string, unknown>;
  /** tokenizer.json, parsed; undefined if the directory has none. */
  tokenizerJson?(): Promise<Record<string, unknown> | undefined>;
  /** tokenizer_config.json, parsed; undefined if the directory has none. */
  tokenizerConfig?(): Promise<Record<string, unknown> | undefined>;
  /** chat_template.jinja, else the template of tokenizer_config.json; undefined if there is none. */
  chatTemplate?(): Promise<string | undefined>;
  /**
   * A tensor's bytes as stored (little-endian), in a new array that the caller owns.
   *
   * @throws TensorNotFoundError, TruncatedFileError
   */
  read(name: string): Promise<Uint8Array>;
  /**
   * Bytes [begin, end) of a tensor, for reading a large one in parts.
   *
   * @throws TensorNotFoundError, LimitExceededError, TruncatedFileError
   */
  readRange(name: string, begin: number, end: number): Promise<Uint8Array>;
  /** Closes all file handles. Reading afterwards opens them again. */
  close(): Promise<void>;
}
