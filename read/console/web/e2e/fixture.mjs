// A service of made-up answers for looking at the console and for its tests. It
// serves the built files with the headers of read/console and the routes that
// pages ask. Never shipped: it stands beside the tests.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { gzipSync } from 'node:zlib';

const dist = new URL('../../dist/', import.meta.url);

let seed = 42;
const random = () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
const pick = (list) => list[Math.floor(random() * list.length)];
const hex = (n) => Array.from({ length: n }, () => Math.floor(random() * 16).toString(16)).join('');
const NOW = Date.parse('2026-11-29T02:00:00Z');

const ASKS = [
  ['travel-planner', 'agent', 'Three days in Lisbon with two children, not too much walking.', 'Day one: the Oceanarium in the morning, then a tram along the river. I kept walks below one kilometre.'],
  ['support-bot', 'workflow', 'Where is my order 4711?', 'It left the warehouse this morning and arrives tomorrow between 9 and 12.'],
  ['support-bot', 'workflow', 'I want a refund for the late delivery.', ''],
  ['contract-reader', 'chain', 'Which clause covers termination for convenience?', 'Clause 14.2. Either party may terminate with ninety days of written notice.'],
  ['code-reviewer', 'agent', 'Review the change of the retry policy in client.go', 'Two remarks: the backoff has no upper bound, and a POST is repeated although it is not idempotent.'],
  ['search', 'query', 'grid storage providers in Portugal', '12 documents'],
];
const MODELS = ['gpt-4.1-mini', 'claude-sonnet-4', 'gemini-2.5-flash', 'llama-3.3-70b'];

const traces = Array.from({ length: 420 }, (_, i) => {
  const [name, type, input, output] = pick(ASKS);
  const failed = output === '' || random() < 0.04;
  return {
    trace_id: hex(32), span_id: hex(16), start_time: new Date(NOW - i * 203_000 - random() * 90_000).toISOString().replace('Z', '672157Z'),
    span_name: name, span_type: type, status_code: failed ? 'STATUS_CODE_ERROR' : 'STATUS_CODE_OK', status_message: failed ? 'timeout: search_hotels did not answer within 5 s' : null,
    'preview.inputs': input, 'preview.outputs': failed ? null : output, duration_ms: 300 + random() * 4000, 'total.tokens': Math.round(200 + random() * 4000), 'total.cost': random() * 0.004,
    'total.errors': failed ? 1 : 0, 'total.spans': 3 + Math.floor(random() * 40), model: pick(MODELS), user_id: pick(['ada', 'grace', 'linus', 'barbara']), session_id: `session-${hex(6)}`,
    application: name, environment: pick(['prod', 'staging']), service: 'api', 'score.judge': Math.round(1 + random() * 4),
  };
});

function outline(id, count = 41) {
  const spans = [{ name: 'travel-planner', type: 'workflow', parent: -1, start: 0, duration: 2115e6 }, { name: 'agent-loop', type: 'agent', parent: 0, start: 4e6, duration: 2105e6 }];
  let at = 8e6;
  for (let i = 0; spans.length < count; i++) {
    const parent = 1;
    const d = 2050e6 / Math.ceil((count - 2) / 5);
    spans.push({ name: 'chat gpt-4.1-mini', type: 'chat', parent, start: at, duration: d * 0.5, model: 'gpt-4.1-mini', tokens: [303 + i * 60, 176], cost: 0.00031 });
    spans.push({ name: pick(['search_hotels', 'weather', 'opening_hours']), type: 'tool', parent, start: at + d * 0.52, duration: d * 0.3, failed: i === 1 });
    spans.push({ name: 'embed query', type: 'embedding', parent: spans.length - 1, start: at + d * 0.54, duration: d * 0.06, model: 'text-embedding-3-small', tokens: [12, null], cost: 0.0000002 });
    spans.push({ name: 'vector search', type: 'query', parent: spans.length - 2, start: at + d * 0.61, duration: d * 0.1 });
    spans.push({ name: 'rerank', type: 'rerank', parent: spans.length - 3, start: at + d * 0.72, duration: d * 0.08 });
    at += d;
  }
  spans.length = count;
  const dictionary = (key) => [...new Set(spans.map((s) => s[key]).filter(Boolean))];
  const name = dictionary('name');
  const type = dictionary('type');
  const model = dictionary('model');
  const own = spans.map((s) => s.cost ?? null);
  const total = spans.map((s, i) => (i < 2 ? own.reduce((a, b) => a + (b ?? 0), 0) : own[i]));
  return {
    trace_id: id, trace_type: 'invocation', complete: true, next: null, start: '2026-11-28T22:50:34.414672157Z', end: '2026-11-28T22:50:36.529672157Z', running: false,
    totals: { spans: count, errors: 1, tokens_prompt: 3087, tokens_completion: 1407, tokens_total: 4494, cost: total[0] },
    dictionaries: { name, type, model, service: ['api'] },
    columns: {
      span_id: spans.map((_, i) => (0xf3cc000000000000n + BigInt(i)).toString(16)), parent: spans.map((s) => s.parent), orphan: spans.map(() => 0), name: spans.map((s) => name.indexOf(s.name)), type: spans.map((s) => type.indexOf(s.type)),
      kind: spans.map(() => 2), status: spans.map((s) => (s.failed ? 2 : 1)), start_ns: spans.map((s) => Math.round(s.start)), duration_ns: spans.map((s) => Math.round(s.duration)),
      tokens_prompt: spans.map((s) => s.tokens?.[0] ?? null), tokens_completion: spans.map((s) => s.tokens?.[1] ?? null), cost: own, total_cost: total, errors: spans.map((s) => (s.failed ? 1 : 0)),
      model: spans.map((s) => (s.model ? model.indexOf(s.model) : -1)), service: spans.map(() => 0), links: spans.map(() => 0), events: spans.map((s) => (s.failed ? 1 : 0)), annotations: spans.map((_, i) => (i === 0 ? 2 : 0)), bytes: spans.map(() => 812),
    },
  };
}

function span(traceId, spanId) {
  const i = Number(BigInt(`0x${spanId}`) - 0xf3cc000000000000n);
  const o = outline(traceId);
  const type = o.dictionaries.type[o.columns.type[i] ?? 0];
  const chat = type === 'chat';
  const failed = o.columns.status[i] === 2;
  return {
    trace_id: traceId, span_id: spanId, parent_id: i ? o.columns.span_id[o.columns.parent[i]] : undefined, trace_type: 'invocation', span_type: type, span_kind: 'SPAN_KIND_INTERNAL', span_name: o.dictionaries.name[o.columns.name[i] ?? 0],
    start_time: '2026-11-28T22:50:34.422672157Z', end_time: '2026-11-28T22:50:35.190672157Z', created_at: '2026-11-28T22:50:37Z', status_code: failed ? 'STATUS_CODE_ERROR' : 'STATUS_CODE_OK', ...(failed && { status_message: 'timeout: search_hotels did not answer within 5 s' }),
    session_id: 'session-uwwekl', user_id: 'ada',
    attributes: { ag: {
      type: { trace: 'invocation', span: type },
      data: chat ? {
        inputs: { prompt: [
          { role: 'system', content: 'You are a careful assistant of **Northwind Travel**. Ask before you book anything.' },
          { role: 'user', content: 'Three days in Lisbon with two children, not too much walking.' },
          ...(i > 2 ? [{ role: 'assistant', content: '', tool_calls: [{ id: 'c1', type: 'function', function: { name: 'search_hotels', arguments: '{"city":"Lisbon","limit":5,"family":true}' } }] }, { role: 'tool', tool_call_id: 'c1', content: '[{"name":"Hotel do Chiado","price":184,"rating":4.6},{"name":"Casa Balthazar","price":231,"rating":4.8}]' }] : []),
        ] },
        outputs: { completion: [i > 2
          ? { role: 'assistant', content: 'I looked it up. Two places fit:\n\n| Hotel | Price | Rating |\n|---|---|---|\n| Hotel do Chiado | €184 | 4.6 |\n| Casa Balthazar | €231 | 4.8 |\n\nBoth have **family rooms** and stand close to the tram. Shall I hold a room at the first one?' }
          : { role: 'assistant', content: null, thinking: 'They travel with children, so the hotel matters most.', tool_calls: [{ id: 'c1', type: 'function', function: { name: 'search_hotels', arguments: '{"city":"Lisbon","limit":5,"family":true}' } }] }] },
        parameters: { temperature: 0.2, max_tokens: 800 },
      } : { inputs: { city: 'Lisbon', limit: 5, family: true }, ...(failed ? {} : { outputs: { hotels: [{ name: 'Hotel do Chiado', price: 184, rating: 4.6 }, { name: 'Casa Balthazar', price: 231, rating: 4.8 }] } }) },
      metrics: { duration: { cumulative: 768 }, tokens: { incremental: { prompt: 303, completion: 176, total: 479 }, cumulative: { prompt: 303, completion: 176, total: 479 } }, costs: { incremental: { prompt: 0.00012, completion: 0.00028, total: 0.0004 }, cumulative: { total: 0.0004 } } },
      ...(failed && { exception: { type: 'TimeoutError', message: 'search_hotels did not answer within 5 s' } }),
    }, gen_ai: { system: 'openai', request: { model: 'gpt-4.1-mini' } } },
    references: [{ slug: 'travel-planner', version: '7', attributes: { key: 'application_revision' } }, { slug: 'prod', attributes: { key: 'environment' } }],
    ...(failed && { events: [{ name: 'exception', timestamp: '2026-11-28T22:50:35.1Z', attributes: { 'exception.type': 'TimeoutError', 'exception.stacktrace': 'TimeoutError: no answer\n  at search_hotels (tools.ts:41)\n  at loop (agent.ts:88)' } }] }),
  };
}

const D = 'attributes.ag.metrics.duration.cumulative';
const E = 'attributes.ag.metrics.errors.cumulative';

function analytics(body) {
  const from = Date.parse(body.windowing.oldest);
  const to = Date.parse(body.windowing.newest);
  const step = (body.windowing.interval ?? Math.round((to - from) / 60_000)) * 60_000;
  const groups = body.group_by?.[0];
  const names = groups === 'evaluator' ? ['judge', 'exact_match', 'helpfulness'] : groups === 'status_message' ? ['timeout: search_hotels did not answer within 5 s', 'rate limit of the provider'] : MODELS;
  const buckets = [];
  for (let at = Math.ceil(from / step) * step; at < to; at += step) {
    const day = 0.6 + 0.4 * Math.sin((at / 86_400_000) * 2 * Math.PI - 1.2);
    const count = Math.round((40 + random() * 40) * day) + 3;
    const bad = Math.round(count * (random() < 0.08 ? 0.3 : 0.015));
    const metric = (scale, n = count) => ({ count: n, sum: scale * n, mean: scale, p50: scale * 0.8, p95: scale * 2.6, p99: scale * (4 + random()), count_positive: n });
    const all = (n = count) => Object.fromEntries((body.specs ?? []).map(({ path }) => [path, path === E ? { count: n, count_positive: bad, sum: bad } : path === D ? metric(1500 + random() * 400, n) : path.includes('costs') ? metric(0.0021 + random() * 0.0005, n) : path.includes('score') ? metric(0.8 + random() * 0.1, n) : metric(path.endsWith('prompt') ? 900 : path.endsWith('cached') ? 380 : 420, n)]));
    buckets.push({ timestamp: new Date(at).toISOString(), interval: step / 60_000, metrics: all(), ...(groups && { groups: names.map((key, i) => ({ key: [key], metrics: all(Math.round(count / (i + 1.5))) })).concat(groups === 'model' ? [{ key: null, metrics: all(4) }] : []) }) });
  }
  return { count: buckets.length, buckets };
}

const ALL = ['view_spans', 'edit_spans', 'edit_traces', 'edit_queries', 'view_project', 'edit_project', 'edit_secrets', 'edit_api_keys', 'view_evaluations', 'edit_evaluations', 'run_evaluations', 'edit_testsets', 'view_testsets', 'view_environments'];

const session = {
  user: { id: '0190', username: 'ada', email: 'ada@example.com' }, version: '0.9.0', features: { tail: true, console: true }, expires_at: '2026-12-06T00:00:00Z',
  projects: [{ project_id: '01890a5d-ac96-774b-bcce-b302099a8057', project_name: 'Northwind', workspace_name: 'main', organization_name: 'Example', role: 'owner', permissions: ALL, default: true },
    { project_id: '01890a5d-ac96-774b-bcce-b302099a8058', project_name: 'Staging', workspace_name: 'main', organization_name: 'Example', role: 'viewer', permissions: ['view_spans'] }],
};

const annotations = [
  { trace_id: hex(32), origin: 'human', kind: 'adhoc', channel: 'web', created_at: '2026-11-29T00:10:00Z', data: { outputs: { success: false, comment: 'It never asked for dates.' } }, references: { evaluator: { slug: 'quality' } }, links: { invocation: { trace_id: traces[0].trace_id, span_id: 'f3cc000000000000' } } },
  { trace_id: hex(32), origin: 'auto', kind: 'adhoc', channel: 'api', created_at: '2026-11-29T00:12:00Z', data: { outputs: { score: 4.5, label: 'helpful' } }, references: { evaluator: { slug: 'judge' } }, links: { invocation: { trace_id: traces[0].trace_id, span_id: 'f3cc000000000000' } } },
];


const reference = (slug, version) => ({ id: `01890a5d-0000-7000-8000-${hex(12)}`, slug, version });
const STEPS = (version) => [
  { key: 'testset-ab12', type: 'input', origin: 'custom', references: { testset: { slug: 'capitals' }, testset_revision: reference('ab12', '3') } },
  { key: `application-v${version}`, type: 'invocation', origin: 'custom', references: { application: { slug: 'support-bot' }, application_revision: reference(`v${version}`, String(version)) }, inputs: [{ key: '__all_inputs__' }] },
  { key: 'evaluator-exact', type: 'annotation', origin: 'auto', references: { evaluator: { slug: 'exact_match' }, evaluator_revision: { id: 'e1', slug: 'exact', version: '1' } }, inputs: [{ key: '__all_invocations__' }] },
  { key: 'evaluator-judge', type: 'annotation', origin: 'auto', references: { evaluator: { slug: 'judge' }, evaluator_revision: { id: 'e2', slug: 'judge', version: '2' } }, inputs: [{ key: '__all_invocations__' }] },
];
const runs = ['r1', 'r2', 'r3', 'r4'].map((id, i) => ({ id, name: `capitals × support-bot v${6 + i}`, created_at: new Date(NOW - (4 - i) * 7_200_000).toISOString(), status: i === 2 ? 'running' : i === 3 ? 'errors' : 'success', flags: { is_active: i === 2 }, data: { repeats: 1, steps: STEPS(6 + i) }, description: 'nightly' }));

const COUNTRIES = [['France', 'Paris'], ['Portugal', 'Lisbon'], ['Japan', 'Tokyo'], ['Kenya', 'Nairobi'], ['Peru', 'Lima'], ['Norway', 'Oslo'], ['Ghana', 'Accra'], ['Chile', 'Santiago']];

function grid(id, length = 240) {
  const k = runs.findIndex((r) => r.id === id);
  const rows = Array.from({ length }, (_, i) => ({ i, country: COUNTRIES[i % 8], waits: k === 2 && i > 150, failed: k === 3 && i % 40 === 17 }));
  const column = (of) => rows.map(of);
  const app = `application-v${6 + k}`;
  const right = (r) => (r.i * 7919 + k * 13) % 100 < (k ? 88 : 78);
  const stage = (r) => (r.waits ? (r.i < 155 ? 'running' : 'queued') : 'success');
  const done = (value) => (r) => (r.waits || r.failed ? null : value(r));
  return { count: length, columns: {
    run_id: column(() => id), scenario_id: column((r) => `s${k}-${r.i}`), testcase_id: column((r) => `case-${r.i + (k && r.i > 236 ? 100 : 0)}`), repeat: column(() => 0),
    [`status.${app}`]: column((r) => (r.failed ? 'failure' : stage(r))), [`trace_id.${app}`]: column((r) => (r.waits ? null : traces[(r.i + k * 100) % traces.length].trace_id)),
    latency_ms: column(done((r) => 700 + ((r.i * 37) % 900) + k * 120)), cost: column(done((r) => 0.0002 + ((r.i * 11) % 70) / 1e6)),
    'preview.inputs': column((r) => `country: ${r.country[0]}, region: ${r.i % 3 ? 'north' : 'south'}`), 'preview.expected': column((r) => r.country[1]), 'preview.outputs': column(done((r) => (right(r) ? `${r.country[1]} is the capital of ${r.country[0]}.` : 'I am not sure.'))),
    'status.evaluator-exact': column((r) => (r.failed ? 'cancelled' : stage(r))), 'evaluator-exact.success': column(done(right)),
    'status.evaluator-judge': column((r) => (r.failed ? 'cancelled' : stage(r))), 'evaluator-judge.score': column(done((r) => (right(r) ? 4 + (r.i % 2) : 1 + (r.i % 3)))), 'evaluator-judge.reason': column(done((r) => (right(r) ? 'The capital is named.' : 'No capital is named.'))),
  }, schemas: { 'evaluator-judge.score': { type: 'number', 'x-better': 'higher' } } };
}

const means = runs.map((r, i) => ({ run_id: r.id, data: {
  [`application-v${6 + i}`]: { 'attributes.ag.metrics.costs.cumulative.total': { count: 240, sum: 0.056 + i * 0.004 }, 'attributes.ag.metrics.duration.cumulative': { count: 240, mean: 1120 + i * 120 } },
  'evaluator-exact': { 'attributes.ag.data.outputs.success': { count: 240, freq: [{ value: true, count: 187, density: 0.78 + i * 0.03 }, { value: false, count: 53, density: 0.22 - i * 0.03 }] } },
  'evaluator-judge': { 'attributes.ag.data.outputs.score': { count: 240, mean: 3.9 + i * 0.11 } },
} }));

function results(run, scenario) {
  const k = runs.findIndex((r) => r.id === run);
  const i = Number(scenario?.split('-')[1] ?? 0);
  return STEPS(6 + k).map((step, s) => ({ id: hex(8), scenario_id: scenario, step_key: step.key, repeat_idx: 0, status: k === 3 && i % 40 === 17 ? (s === 1 ? 'failure' : s > 1 ? 'cancelled' : 'success') : 'success', ...(s > 0 && { trace_id: traces[(i + k * 100) % traces.length].trace_id, span_id: 'f3cc000000000000' }), ...(k === 3 && i % 40 === 17 && s === 1 && { error: { message: 'The application answered with 503.' } }) }));
}

const SESSIONS = Array.from({ length: 40 }, (_, i) => `session-${(i * 7919 + 1000).toString(36)}`);
const USERS = ['ada', 'grace', 'linus', 'barbara', 'ken', 'edsger', 'margaret', 'alan', 'donald', 'frances', 'john', 'radia'];
const totals = (ids) => ids.map((id, i) => ({ id, first: new Date(NOW - (i + 2) * 3_600_000).toISOString(), last: new Date(NOW - i * 600_000).toISOString(), traces: 3 + (i % 9), errors: i % 4 === 1 ? 1 : 0, tokens: 1200 + i * 340, cost: 0.002 * (i + 1), p95: 900 + i * 70, models: [MODELS[i % 4]] }));

export const routes = {
  'POST /simple/environments/query': () => ({ count: 1, environments: [{ id: 'env', slug: 'prod' }] }),
  'POST /environments/revisions/log': () => ({ count: 1, environment_revisions: [{ id: 'er', version: '1', created_at: new Date(NOW - 30_000_000).toISOString(), data: { references: { 'support-bot.revision': { application: { slug: 'support-bot' }, application_revision: { version: '7' } } } } }] }),
  'POST /evaluations/runs/query': (body) => ({ count: runs.length, runs: runs.toReversed().filter((r) => !body.run?.ids || body.run.ids.includes(r.id)) }),
  'POST /evaluations/metrics/query': () => ({ count: means.length, metrics: means }),
  'POST /evaluations/grid': (body) => grid(body.run_ids[0]),
  'POST /applications/revisions/query': (body) => ({ count: 2, application_revisions: body.application_revision_refs.map((r, i) => ({ id: r.id, data: { parameters: { prompt: { messages: [{ role: 'system', content: i ? 'You are a careful and brief assistant.' : 'You are a careful assistant.' }] }, temperature: i ? 0.1 : 0.2 } } })) }),
  'POST /simple/testsets/query': () => ({ count: 1, testsets: [{ id: 'ts', slug: 'capitals', name: 'Capitals', variant_id: 'tv', revision_id: 'tr3', version: '3', data: { testcase_ids: Array.from({ length: 240 }, (_, i) => `case-${i}`) } }] }),
  'POST /testsets/revisions/log': () => ({ count: 2, testset_revisions: [{ id: 'tr3', version: '3', message: 'more countries' }, { id: 'tr2', version: '2', message: 'first' }] }),
  'POST /testsets/revisions/commit': () => ({ count: 1, testset_revision: {} }),
  'POST /testcases/query': () => ({ count: 2, testcases: [{ id: 'case-0', data: { country: 'France', answer: 'Paris' } }, { id: 'case-1', data: { country: 'Portugal', answer: 'Lisbon' } }] }),
  'POST /simple/applications/query': () => ({ count: 2, applications: [{ id: 'ap', slug: 'support-bot', revision_id: 'ar7', version: '7', data: { schemas: { inputs: { properties: { country: {} }, required: ['country'] } } } }, { id: 'aq', slug: 'travel-planner', revision_id: 'aq2', version: '2', data: { parameters: { prompt: { messages: [{ role: 'user', content: 'Plan {{days}} days in {{city}}' }] } } } }] }),
  'POST /applications/revisions/log': () => ({ count: 2, application_revisions: [{ id: 'ar7', version: '7', message: 'shorter answers' }, { id: 'ar6', version: '6' }] }),
  'POST /simple/evaluations/': () => ({ count: 1, evaluation: { id: 'r3' } }),
  'GET /auth/session': () => session,
  'GET /readyz': () => ({ status: 'ok', checks: {} }),
  'GET /status': () => ({ status: 'ok', checks: { clickhouse: { status: 'ok', duration_ms: 1.2 }, sink: { status: 'ok', lag_seconds: 0.4, duration_ms: 0.1 } } }),
  'POST /auth/session': (body) => (body.key === 'wrong' ? [401, { detail: 'Unauthorized' }] : { session }),
  'DELETE /auth/session': () => ({}),
  'POST /traces/query': (body) => list(body),
  'POST /spans/query': (body) => list(body),
  'POST /spans/analytics/query': analytics,
  'POST /simple/queries/query': () => ({ count: 1, queries: [{ id: '1', name: 'Late refunds', meta: { console: { q: 'name:support-bot "refund"' } } }] }),
  'POST /simple/evaluators/query': () => ({ count: 1, evaluators: [{ id: '1', slug: 'quality', name: 'Quality', flags: { is_feedback: true }, data: { schemas: { outputs: { type: 'object', properties: { success: { type: 'boolean', title: 'Was it right?' }, tone: { type: 'integer', minimum: 1, maximum: 5 }, comment: { type: 'string' } } } } } }] }),
  'POST /annotations/query': () => ({ count: annotations.length, annotations }),
  'POST /annotations/': (body) => { annotations.push({ ...body.annotation, trace_id: hex(32), created_at: new Date(NOW).toISOString() }); return { count: 1, annotation: body.annotation }; },
  'GET /spans/fields': () => ({ fields: [{ path: 'ag.data.inputs.country', type: 'string' }] }),
  'POST /spans/sessions/query': () => ({ count: 40, session_ids: SESSIONS, totals: totals(SESSIONS) }),
  'POST /spans/users/query': () => ({ count: 12, user_ids: USERS, totals: totals(USERS) }),
  'GET /rejected-spans/summary': () => ({ count: 37, reasons: [{ stage: 'receive', reason: 'trace id of zeros', count: 21 }, { stage: 'sink', reason: 'attribute beyond 1 MiB', count: 16 }] }),
  'GET /rejected-spans': () => ({ count: 2, rejected_spans: [{ rejected_at: '2026-11-29T01:00:00Z', stage: 'receive', reason: 'trace id of zeros', source: 'otlp', name: 'chat' }] }),
};

function list(body) {
  const start = body.windowing?.next ? Number(body.windowing.next) : 0;
  const rows = JSON.stringify(body.filtering ?? '').includes('nothing-matches') ? [] : traces.slice(start, start + (body.windowing?.limit ?? 100));
  const columns = Object.fromEntries((body.select ?? []).concat(body.preview ? [] : []).map((field) => [field, rows.map((r) => r[field] ?? null)]));
  return { count: rows.length, columns, ...(start + rows.length < traces.length && { windowing: { next: String(start + rows.length) } }) };
}

/** serve starts the service on a free port. fail decides which route goes wrong. */
export function serve({ fail = () => undefined, port = 0 } = {}) {
  const server = createServer((request, response) => {
    const url = new URL(request.url, 'http://x');
    if (url.pathname.startsWith('/ui/')) return page(url.pathname, response);
    let text = '';
    request.on('data', (chunk) => (text += chunk));
    request.on('end', () => {
      const key = `${request.method} ${url.pathname}`;
      const send = (status, body) => {
        const json = gzipSync(JSON.stringify(body));
        response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' });
        response.end(json);
      };
      const wrong = fail(key);
      if (wrong === 'hang') return undefined;
      if (wrong) return send(...wrong);
      const body = text ? JSON.parse(text) : {};
      const outlined = /^GET \/traces\/([0-9a-f]{32})\/outline$/.exec(key);
      if (outlined) return send(200, outline(outlined[1], outlined[1].startsWith('50000') ? 50_000 : outlined[1].startsWith('5000') ? 5000 : 42));
      const run = /^GET \/evaluations\/runs\/(r\d)$/.exec(key);
      if (run) return send(200, { count: 1, run: runs.find((r) => r.id === run[1]) });
      const probe = /^POST \/simple\/evaluations\/(r\d)\/(probe|process|stop|start)$/.exec(key);
      if (probe) return send(200, { count: 4, results: results(probe[1], body.scenario_ids?.[0]) });
      const testcase = /^GET \/testcases\/case-(\d+)$/.exec(key);
      if (testcase) return send(200, { count: 1, testcase: { id: `case-${testcase[1]}`, data: { country: COUNTRIES[testcase[1] % 8][0], answer: COUNTRIES[testcase[1] % 8][1] } } });
      const one = /^GET \/spans\/([0-9a-f]{32})\/([0-9a-f]{16})$/.exec(key);
      if (one) return send(200, { count: 1, span: span(one[1], one[2]) });
      const answer = routes[key]?.(body, url);
      if (answer === undefined) return send(404, { detail: `The fixture has no ${key}.` });
      return Array.isArray(answer) ? send(answer[0], answer[1]) : send(200, answer);
    });
  });
  return new Promise((done) => server.listen(port, '127.0.0.1', () => done({ server, url: `http://127.0.0.1:${server.address().port}` })));
}

const TYPES = { js: 'text/javascript', css: 'text/css', svg: 'image/svg+xml' };

function page(path, response) {
  if (path.startsWith('/ui/assets/')) {
    try {
      const body = readFileSync(new URL(`.${path.slice(3)}`, dist));
      response.writeHead(200, { 'Content-Type': TYPES[path.split('.').at(-1)] ?? 'application/octet-stream', 'X-Content-Type-Options': 'nosniff' });
      response.end(body);
    } catch {
      response.writeHead(404).end();
    }
    return;
  }
  const nonce = 'abcdefghijklmnopqrstuvwx';
  const depth = path.slice(4).split('/').length - 1;
  response.writeHead(200, {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': `default-src 'none'; script-src 'self'; style-src 'self' 'nonce-${nonce}'; img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'self'; form-action 'none'; frame-ancestors 'none'`,
  });
  response.end(readFileSync(new URL('index.html', dist), 'utf8').replaceAll('__NONCE__', nonce).replaceAll('__BASE__', depth ? '../'.repeat(depth) : './'));
}

if (process.argv[1] === new URL(import.meta.url).pathname) console.log((await serve({ port: 4180 })).url);
