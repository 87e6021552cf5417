// The names of fields in a query, and how their values are written.

/** How a value without quotes is read: text as it stands, else JSON scalars first. */
export type ValueKind = 'text' | 'time' | 'any' | 'duration' | 'number' | 'status' | 'kind' | 'flag';

export interface Field { field: string; key?: string; kind: ValueKind }

const TOP: Record<string, [string, ValueKind]> = {
  name: ['span_name', 'text'], type: ['span_type', 'text'], trace: ['trace_type', 'text'], kind: ['span_kind', 'kind'],
  user: ['user_id', 'text'], session: ['session_id', 'text'], agent: ['agent_id', 'text'],
  id: ['trace_id', 'text'], span: ['span_id', 'text'], parent: ['parent_id', 'text'],
  message: ['status_message', 'text'], status: ['status_code', 'status'],
};

const ATTRIBUTES: Record<string, [string, ValueKind]> = {
  model: ['ag.meta.response.model', 'any'], app: ['ag.references.application.slug', 'any'],
  env: ['ag.references.environment.slug', 'any'], evaluator: ['ag.references.evaluator.slug', 'any'], provider: ['ag.meta.system', 'any'],
  duration: ['ag.metrics.duration.cumulative', 'duration'], errors: ['ag.metrics.errors.cumulative', 'number'],
  cost: ['ag.metrics.costs.cumulative.total', 'number'], tokens: ['ag.metrics.tokens.cumulative.total', 'number'],
  'own.cost': ['ag.metrics.costs.incremental.total', 'number'], 'own.tokens': ['ag.metrics.tokens.incremental.total', 'number'],
};

const PREFIXES: [string, string][] = [['tag.', 'ag.tags.'], ['meta.', 'ag.meta.'], ['flag.', 'ag.flags.']];

/** Fields of the API that have no shorter name, or by their own name. */
const FULL: Record<string, ValueKind> = {
  trace_id: 'text', span_id: 'text', parent_id: 'text', trace_type: 'text', span_type: 'text', span_kind: 'kind', status_code: 'status',
  span_name: 'text', status_message: 'text', session_id: 'text', user_id: 'text', agent_id: 'text', created_by_id: 'text', updated_by_id: 'text', deleted_by_id: 'text',
  start_time: 'time', end_time: 'time', created_at: 'time', updated_at: 'time', deleted_at: 'time',
  content: 'text', links: 'any', references: 'any', events: 'any', hashes: 'any', root: 'flag',
};

const TREES = ['attributes', 'resource', 'scope'];

/** Short names, for completion and help. */
export const NAMES: readonly { name: string; about: string }[] = [
  { name: 'name', about: 'span name' }, { name: 'type', about: 'span type' }, { name: 'status', about: 'error, ok or unset' },
  { name: 'duration', about: 'of the span with all below it' }, { name: 'cost', about: 'of the span with all below it' },
  { name: 'tokens', about: 'of the span with all below it' }, { name: 'errors', about: 'of the span with all below it' },
  { name: 'model', about: 'that answered' }, { name: 'app', about: 'application' }, { name: 'env', about: 'environment' },
  { name: 'user', about: 'user id' }, { name: 'session', about: 'session id' }, { name: 'agent', about: 'agent id' },
  { name: 'service', about: 'service.name of the resource' }, { name: 'provider', about: 'of the model' }, { name: 'evaluator', about: 'of an annotation' },
  { name: 'message', about: 'status message' }, { name: 'trace', about: 'invocation or annotation' }, { name: 'kind', about: 'client, server, internal, …' },
  { name: 'id', about: 'trace id' }, { name: 'span', about: 'span id' }, { name: 'parent', about: 'span id of the parent' },
  { name: 'own.cost', about: 'of the span alone' }, { name: 'own.tokens', about: 'of the span alone' },
  { name: 'tag.', about: 'a tag' }, { name: 'meta.', about: 'a member of meta' }, { name: 'flag.', about: 'a flag' },
  { name: 'start_time', about: 'beginning of the span' }, { name: 'root', about: 'only tops of traces' },
];

const SPAN_TYPES = ['workflow', 'agent', 'chain', 'task', 'tool', 'llm', 'chat', 'completion', 'embedding', 'query', 'rerank', 'unknown'];

/** known gives the values of fields that have few. */
export function known(name: string): readonly string[] {
  switch (find(name)?.field) {
    case 'span_type': return SPAN_TYPES;
    case 'trace_type': return ['invocation', 'annotation'];
    case 'status_code': return ['error', 'ok', 'unset'];
    case 'span_kind': return ['internal', 'client', 'server', 'producer', 'consumer', 'unspecified'];
    default: return [];
  }
}

/** find reads the name of a field; undefined where there is none of this name. */
export function find(name: string): Field | undefined {
  const top = own(TOP, name);
  if (top) return { field: top[0], kind: top[1] };
  const attribute = own(ATTRIBUTES, name);
  if (attribute) return { field: 'attributes', key: attribute[0], kind: attribute[1] };
  if (name === 'service') return { field: 'resource', key: 'service.name', kind: 'any' };
  const full = own(FULL, name);
  if (full) return { field: name, kind: full };
  for (const [short, long] of PREFIXES) {
    if (name.startsWith(short) && name.length > short.length) return { field: 'attributes', key: long + name.slice(short.length), kind: 'any' };
  }
  for (const tree of TREES) {
    if (name.startsWith(`${tree}.`) && name.length > tree.length + 1) return keyed(tree, name.slice(tree.length + 1));
  }
  return name.includes('.') && !name.startsWith('.') && !name.endsWith('.') ? keyed('attributes', name) : undefined;
}

/** keyed is a field with a key, and how values at this key are written. */
export function keyed(field: string, key: string): Field {
  const short = field === 'attributes' ? Object.values(ATTRIBUTES).find(([long]) => long === key) : undefined;
  return { field, key, kind: short?.[1] ?? 'any' };
}

/** names gives the ways to write a field, the best first. */
export function names(field: string, key: string | undefined): string[] {
  if (key === undefined) {
    const short = Object.entries(TOP).find(([, [long]]) => long === field);
    return short ? [short[0], field] : [field];
  }
  const found: string[] = [];
  if (field === 'resource' && key === 'service.name') found.push('service');
  if (field === 'attributes') {
    const short = Object.entries(ATTRIBUTES).find(([, [long]]) => long === key);
    if (short) found.push(short[0]);
    for (const [name, long] of PREFIXES) if (key.startsWith(long)) found.push(name + key.slice(long.length));
    found.push(key);
  }
  found.push(`${field}.${key}`);
  return found;
}

function own<T>(table: Record<string, T>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}
