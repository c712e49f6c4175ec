/** What a hub error is about. */
export interface HubErrorDetails {
  readonly url?: string | undefined;
  readonly repo?: string | undefined;
  readonly status?: number | undefined;
}

/** Base of errors while finding or downloading a model from the hub. */
export class HubError extends Error {
  override name = 'HubError';
  readonly url: string | undefined;
  readonly repo: string | undefined;
  readonly status: number | undefined;
  constructor(message: string, details: HubErrorDetails = {}, options?: ErrorOptions) {
    super(message, options);
    this.url = details.url;
    this.repo = details.repo;
    this.status = details.status;
  }
}

/** The repository is private or gated, or the token is not valid (HTTP 401 or 403). */
export class HubUnauthorizedError extends HubError {
  override name = 'HubUnauthorizedError';
}

/** No such repository, revision or file. */
export class HubNotFoundError extends HubError {
  override name = 'HubNotFoundError';
}

/** Not in the local cache, and going to the network is not allowed. */
export class HubOfflineError extends HubError {
  override name = 'HubOfflineError';
}

/** The bytes received are not those that the hub announced. */
export class HubChecksumError extends HubError {
  override name = 'HubChecksumError';
  constructor(
    readonly file: string,
    readonly expected: string,
    readonly actual: string,
    details: HubErrorDetails,
  ) {
    super(`${file}: expected ${expected}, received ${actual}. The download was discarded; try again.`, details);
  }
}
