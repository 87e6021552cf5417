// What went wrong, in one form, whatever the service or the network said.

/** Where in a form or filter a mistake is: the names and numbers of the body that lead to it. */
export interface Mistake { at: (string | number)[]; message: string }

export type Failure =
  | 'offline' // no answer at all
  | 'signed-out'
  | 'forbidden'
  | 'missing'
  | 'conflict'
  | 'too-large'
  | 'refused' // the request is wrong: 400, 422
  | 'busy' // 429
  | 'unavailable' // 502, 503, 504
  | 'broken'; // everything else

export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly details: {
      mistakes?: readonly Mistake[];
      requestId?: string;
      /** Milliseconds after which the service takes the request again. */
      retryAfter?: number;
      /** detail as it came, for answers that carry more than a sentence. */
      detail?: unknown;
      /** What was asked: POST /spans/query. */
      request?: string;
    } = {},
  ) {
    super(message);
    this.name = 'ApiError';
  }

  get failure(): Failure {
    switch (this.status) {
      case 0: return 'offline';
      case 401: return 'signed-out';
      case 403: return 'forbidden';
      case 404: return 'missing';
      case 409: return 'conflict';
      case 413: return 'too-large';
      case 400: case 422: return 'refused';
      case 429: return 'busy';
      case 502: case 503: case 504: return 'unavailable';
      default: return 'broken';
    }
  }
}

/** fromResponse reads the error of an answer, whose body may be anything. */
export function fromResponse(status: number, headers: Headers, body: string, request: string): ApiError {
  let detail: unknown;
  try {
    detail = (JSON.parse(body) as { detail?: unknown }).detail;
  } catch {
    // A proxy answers in HTML.
  }
  const mistakes = readMistakes(detail);
  const retry = retryAfter(headers.get('Retry-After'));
  const id = headers.get('X-Request-Id');
  return new ApiError(status, messageOf(status, detail, mistakes), {
    request,
    ...(detail !== undefined && { detail }),
    ...(mistakes.length > 0 && { mistakes }),
    ...(id && { requestId: id }),
    ...(retry !== undefined && { retryAfter: retry }),
  });
}

function messageOf(status: number, detail: unknown, mistakes: readonly Mistake[]): string {
  if (typeof detail === 'string' && detail) return detail;
  if (typeof detail === 'object' && detail !== null && 'message' in detail && typeof detail.message === 'string') return detail.message;
  if (mistakes.length) return mistakes.map((m) => (m.at.length ? `${m.at.join('.')}: ${m.message}` : m.message)).join(' · ');
  switch (status) {
    case 401: return 'You are signed out.';
    case 403: return 'Your role does not allow this.';
    case 404: return 'The service knows nothing of this.';
    case 413: return 'This is too large.';
    case 429: return 'Too many requests. Wait a moment.';
    case 502: case 503: case 504: return 'The service is not ready.';
    default: return `The service answered with ${status}.`;
  }
}

function readMistakes(detail: unknown): Mistake[] {
  if (!Array.isArray(detail)) return [];
  return detail.flatMap((item: unknown) => {
    if (typeof item !== 'object' || item === null) return [];
    const { loc, msg } = item as { loc?: unknown; msg?: unknown };
    if (typeof msg !== 'string') return [];
    const at = Array.isArray(loc) ? loc.filter((l): l is string | number => typeof l === 'string' || typeof l === 'number') : [];
    return [{ at: at[0] === 'body' ? at.slice(1) : at, message: msg }];
  });
}

/** retryAfter reads seconds or a date, in milliseconds. */
export function retryAfter(header: string | null, now = Date.now()): number | undefined {
  if (!header) return undefined;
  if (/^\d+$/.test(header)) return Math.min(Number(header) * 1000, 60_000);
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.min(Math.max(0, at - now), 60_000);
}
