/** Base of every error this package throws. `code` is stable; the message is for people. */
export abstract class EngineError extends Error {
  /** Spelled out in every class: bundlers rename classes. */
  abstract override readonly name: string;
  abstract readonly code: string;
}
