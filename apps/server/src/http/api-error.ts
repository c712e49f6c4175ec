/** OpenAI's error object. `param` names the field, `code` is a stable identifier for programs. */
export interface ApiErrorBody {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly param: string | null;
    readonly code: string | null;
  };
}

export interface ApiErrorOptions {
  readonly type?: string;
  readonly param?: string | null;
  readonly code?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An error that a client sees. Anything else that is thrown becomes a 500 without details. */
export class ApiError extends Error {
  readonly status: number;
  readonly type: string;
  readonly param: string | null;
  readonly code: string | null;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, options: ApiErrorOptions = {}) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.type = options.type ?? (status >= 500 ? 'server_error' : 'invalid_request_error');
    this.param = options.param ?? null;
    this.code = options.code ?? null;
    this.headers = options.headers ?? {};
  }

  body(): ApiErrorBody {
    return { error: { message: this.message, type: this.type, param: this.param, code: this.code } };
  }

  toResponse(): Response {
    return Response.json(this.body(), { status: this.status, headers: this.headers });
  }
}

/** A 400 about one field. */
export function invalidField(param: string, message: string, code: string | null = null): ApiError {
  return new ApiError(400, message, { param, code });
}
