import { describe, expect, it } from 'vitest';
import { Client, isRead, type Environment } from './client';
import { ApiError, retryAfter } from './errors';
import { Tokens } from './token';

type Answer = { status?: number; body?: string; headers?: Record<string, string> } | 'lost';

function client(...answers: Answer[]) {
  const sent: { url: string; method: string; headers: Headers; body: string | undefined }[] = [];
  const waited: number[] = [];
  const out: (string | undefined)[] = [];
  const pending: [string, boolean][] = [];
  let clock = 0;
  const env: Environment = {
    fetch: (input, init) => {
      sent.push({ url: String(input), method: init?.method ?? 'GET', headers: new Headers(init?.headers), body: init?.body as string | undefined });
      const answer = answers.shift() ?? {};
      if (answer === 'lost') return Promise.reject(new TypeError('Failed to fetch'));
      return Promise.resolve(new Response(answer.status === 204 ? null : (answer.body ?? '{}'), { status: answer.status ?? 200, headers: answer.headers ?? {} }));
    },
    tokens: new Tokens(() => clock),
    origin: 'http://x/api',
    project: () => 'p-1',
    signedOut: (project) => out.push(project),
    pending: (route, is) => pending.push([route, is]),
    wait: (ms) => {
      waited.push(ms);
      return Promise.resolve();
    },
  };
  return { client: new Client(env), sent, waited, out, pending, pass: (ms: number) => (clock += ms) };
}

async function failure(promise: Promise<unknown>): Promise<ApiError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Error('it succeeded');
}

describe('the client', () => {
  it('sends project and JSON', async () => {
    const t = client({ body: '{"count":1}' });
    expect(await t.client.call('POST', '/spans/query', { body: { a: 1 }, query: { x: 'a b', y: undefined, z: ['1', '2'] } })).toEqual({ count: 1 });
    expect(t.sent[0]!.url).toBe('http://x/api/spans/query?x=a+b&z=1&z=2');
    expect(t.sent[0]!.headers.get('Colonnade-Project')).toBe('p-1');
    expect(t.sent[0]!.headers.get('Content-Type')).toBe('application/json');
    expect(t.sent[0]!.headers.has('Colonnade-Token')).toBe(false);
    expect(t.sent[0]!.body).toBe('{"a":1}');
  });

  it('repeats reads that were lost, and no others', async () => {
    const t = client('lost', { status: 503, headers: { 'Retry-After': '3' } }, { status: 502 }, { body: '{"count":2}' });
    expect(await t.client.call('POST', '/traces/query', { body: {} })).toEqual({ count: 2 });
    expect(t.waited).toEqual([500, 3000, 2000]);

    const write = client('lost');
    expect((await failure(write.client.call('POST', '/annotations/', { body: {} }))).failure).toBe('offline');
    expect(write.sent).toHaveLength(1);

    const wrong = client({ status: 500 });
    expect((await failure(wrong.client.call('GET', '/x'))).failure).toBe('broken');
    expect(wrong.sent).toHaveLength(1);

    const never = client('lost', 'lost', 'lost', 'lost', 'lost');
    expect((await failure(never.client.call('GET', '/x'))).status).toBe(0);
    expect(never.sent).toHaveLength(4);
  });

  it('sends the token of a write for half a minute, and the one of both after two', async () => {
    const t = client({ headers: { 'Colonnade-Token': 'A' } }, {}, { headers: { 'Colonnade-Token': 'AB' } }, {}, { headers: { 'Colonnade-Token-Pending': '1' } });
    await t.client.call('POST', '/annotations/', { body: {} });
    await t.client.call('GET', '/traces/1');
    expect(t.sent[1]!.headers.get('Colonnade-Token')).toBe('A');
    await t.client.call('DELETE', '/traces/1');
    expect(t.sent[2]!.headers.get('Colonnade-Token')).toBe('A');
    await t.client.call('GET', '/traces/1');
    expect(t.sent[3]!.headers.get('Colonnade-Token')).toBe('AB');
    t.pass(29_999);
    await t.client.call('GET', '/traces/1');
    expect(t.pending.at(-1)).toEqual(['/traces/1', true]);
    t.pass(2);
    await t.client.call('GET', '/traces/1');
    expect(t.sent[5]!.headers.has('Colonnade-Token')).toBe(false);
    expect(t.pending.at(-1)).toEqual(['/traces/1', false]);
  });

  it('keeps sixteen tokens of writes that ran at once', () => {
    const tokens = new Tokens(() => 0);
    for (let i = 0; i < 20; i++) tokens.written(`t${i}`, undefined);
    expect(tokens.header()!.split(',')).toHaveLength(16);
    expect(tokens.header()).toMatch(/^t4,.*,t19$/);
    tokens.written('all', tokens.header());
    expect(tokens.header()).toBe('all');
  });

  it('says who is signed out', async () => {
    const t = client({ status: 401, body: '{"detail":"Unauthorized"}' }, { status: 401, body: '{"detail":{"message":"The key was revoked.","project_id":"p-1"}}' });
    expect((await failure(t.client.call('GET', '/x'))).failure).toBe('signed-out');
    expect((await failure(t.client.call('GET', '/x'))).message).toBe('The key was revoked.');
    expect(t.out).toEqual([undefined, 'p-1']);
  });

  it('reads every form of a detail', async () => {
    const t = client(
      { status: 400, body: '{"detail":"Unknown filter field: x."}', headers: { 'X-Request-Id': 'r1' } },
      { status: 422, body: '{"detail":[{"type":"missing","loc":["body","filtering","conditions",0,"field"],"msg":"Field required"}]}' },
      { status: 502, body: '<html>' }, { status: 502, body: '' }, { status: 502 }, { status: 502, body: 'x' },
      { body: 'not json' },
      { status: 409, body: '{"detail":{"message":"Taken.","conflict":{"slug":"s"}}}' },
    );
    const refused = await failure(t.client.call('GET', '/x'));
    expect([refused.failure, refused.message, refused.details.requestId, refused.details.request]).toEqual(['refused', 'Unknown filter field: x.', 'r1', 'GET /x']);
    const invalid = await failure(t.client.call('GET', '/x'));
    expect(invalid.details.mistakes).toEqual([{ at: ['filtering', 'conditions', 0, 'field'], message: 'Field required' }]);
    expect((await failure(t.client.call('GET', '/x'))).message).toBe('The service is not ready.');
    expect((await failure(t.client.call('GET', '/x'))).message).toContain('not JSON');
    const conflict = await failure(t.client.call('PUT', '/x', { body: {} }));
    expect([conflict.failure, conflict.message, conflict.details.detail]).toEqual(['conflict', 'Taken.', { message: 'Taken.', conflict: { slug: 's' } }]);
  });

  it('does not go on after an abort', async () => {
    const t = client('lost');
    const stop = new AbortController();
    stop.abort();
    await expect(t.client.call('GET', '/x', { signal: stop.signal })).rejects.toThrow();
    expect(t.sent).toHaveLength(1);
  });

  it('knows what only reads', () => {
    for (const route of ['/spans/query', '/spans/analytics/query', '/spans/values', '/environments/revisions/log', '/evaluations/grid']) expect(isRead('POST', route), route).toBe(true);
    for (const route of ['/annotations/', '/simple/queries/', '/simple/evaluations/1/start']) expect(isRead('POST', route), route).toBe(false);
    expect(isRead('DELETE', '/traces/query')).toBe(false);
  });

  it('reads Retry-After', () => {
    expect(retryAfter('2')).toBe(2000);
    expect(retryAfter('Sat, 28 Nov 2026 10:00:05 GMT', Date.parse('2026-11-28T10:00:00Z'))).toBe(5000);
    expect(retryAfter('999999')).toBe(60_000);
    expect(retryAfter('soon')).toBeUndefined();
    expect(retryAfter(null)).toBeUndefined();
  });
});
