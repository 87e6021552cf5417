// The only place that calls fetch. It adds project and token, repeats reads that
// were lost, and turns every failure into an ApiError.

import { ApiError, fromResponse } from './errors';
import { Tokens } from './token';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface Options {
  body?: unknown;
  query?: Record<string, string | number | boolean | readonly string[] | undefined>;
  signal?: AbortSignal;
  /** A POST that only reads: it is repeated like a GET. */
  reads?: boolean;
  headers?: Record<string, string>;
}

export interface Environment {
  fetch: typeof fetch;
  tokens: Tokens;
  /** Where the service is: the console stands at /ui/ below it. */
  origin: string;
  project: () => string | undefined;
  /** signedOut is told that a credential no longer holds: for all, or for one project. */
  signedOut: (project: string | undefined) => void;
  /** pending is told whether an answer lacked what was just written. */
  pending: (route: string, is: boolean) => void;
  /** wait resolves after milliseconds, or rejects when the signal is aborted. */
  wait: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
}

const BACKOFF = [500, 1000, 2000];

export class Client {
  constructor(private readonly env: Environment) {}

  /** call sends JSON and reads JSON. */
  async call<T>(method: Method, route: string, options: Options = {}): Promise<T> {
    const reads = options.reads ?? isRead(method, route);
    const response = await this.fetch(method, this.env.origin + route + search(options.query), {
      reads,
      ...(options.body !== undefined && { text: JSON.stringify(options.body) }),
      ...(options.signal && { signal: options.signal }),
      ...(options.headers && { headers: options.headers }),
    });
    if (response.status === 204 || response.status === 304) return undefined as T;
    const text = await response.text();
    try {
      return (text ? JSON.parse(text) : undefined) as T;
    } catch {
      throw new ApiError(response.status, 'The answer is not JSON. Is something between the browser and the service?', { request: `${method} ${route}` });
    }
  }

  /** open sends a request whose answer is a stream. It is never repeated. */
  async open(method: Method, route: string, options: Options & { accept: string }): Promise<Response> {
    return this.fetch(method, this.env.origin + route + search(options.query), {
      reads: false,
      headers: { ...options.headers, Accept: options.accept },
      ...(options.body !== undefined && { text: JSON.stringify(options.body) }),
      ...(options.signal && { signal: options.signal }),
    });
  }

  private async fetch(method: Method, url: string, options: { text?: string; signal?: AbortSignal; reads: boolean; headers?: Record<string, string> }): Promise<Response> {
    const route = url.slice(this.env.origin.length).replace(/\?.*/, '');
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.once(method, url, route, options);
      } catch (error) {
        if (!(error instanceof ApiError) || !options.reads || attempt >= BACKOFF.length || options.signal?.aborted) throw error;
        if (![0, 502, 503].includes(error.status)) throw error;
        await this.env.wait(error.details.retryAfter ?? BACKOFF[attempt]!, options.signal);
      }
    }
  }

  private async once(method: Method, url: string, route: string, options: { text?: string; signal?: AbortSignal; reads: boolean; headers?: Record<string, string> }): Promise<Response> {
    const { env } = this;
    const headers = new Headers({ Accept: 'application/json', ...options.headers });
    const project = env.project();
    if (project) headers.set('Colonnade-Project', project);
    const carried = env.tokens.header();
    if (carried !== undefined) headers.set('Colonnade-Token', carried);
    if (options.text !== undefined) headers.set('Content-Type', 'application/json');
    let response: Response;
    try {
      response = await env.fetch(url, {
        method, headers, credentials: 'same-origin', redirect: 'error', cache: 'no-store',
        ...(options.text !== undefined && { body: options.text }),
        ...(options.signal && { signal: options.signal }),
      });
    } catch (error) {
      if (options.signal?.aborted) throw error;
      throw new ApiError(0, 'The service does not answer. Is it running, and is this computer online?', { request: `${method} ${route}` });
    }
    if (!response.ok && response.status !== 304) {
      const error = fromResponse(response.status, response.headers, await response.text(), `${method} ${route}`);
      if (error.status === 401) env.signedOut(projectOf(error.details.detail));
      throw error;
    }
    const token = response.headers.get('Colonnade-Token');
    if (token && !options.reads) env.tokens.written(token, carried);
    env.pending(route, response.headers.has('Colonnade-Token-Pending'));
    return response;
  }
}

function projectOf(detail: unknown): string | undefined {
  return typeof detail === 'object' && detail !== null && 'project_id' in detail && typeof detail.project_id === 'string' ? detail.project_id : undefined;
}

/** isRead reports whether a request changes nothing: GET, and the POSTs that ask. */
export function isRead(method: string, route: string): boolean {
  if (method === 'GET') return true;
  return method === 'POST' && /\/(?:query|values|log|retrieve|resolve|grid|probe)\/?(?:\?.*)?$/.test(route);
}

function search(query: Options['query']): string {
  const all = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value === undefined) continue;
    if (typeof value === 'object') for (const item of value) all.append(name, item);
    else all.append(name, String(value));
  }
  const text = all.toString();
  return text && `?${text}`;
}

/** wait is the browser's: a timer that an abort ends. */
export function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((done, fail) => {
    const stop = () => {
      clearTimeout(timer);
      fail(signal?.reason instanceof Error ? signal.reason : new DOMException('Aborted', 'AbortError'));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      done();
    }, ms);
    if (signal?.aborted) stop();
    else signal?.addEventListener('abort', stop, { once: true });
  });
}

