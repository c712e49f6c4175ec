/** Base of every error this package throws. `code` is stable; the message is for people. */
export abstract class EngineError extends Error {
  abstract readonly code: string;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}
