import type { Column } from '../../kit/table/table';
import { Cost, Duration, Score, SpanType, Status, Time, Tokens } from '../../kit/value/value';
import { showCount } from '../../url/number';
import type { Row } from './data';

interface Known extends Column<Row> { fields: readonly string[] }

const text = (row: Row, field: string) => (row[field] === null || row[field] === undefined ? '' : String(row[field]));
const number = (row: Row, field: string) => (typeof row[field] === 'number' ? row[field] : null);

const KNOWN: Record<string, Known> = {
  start: { id: 'start', title: 'Start', width: 196, sort: 'server', fields: ['start_time'], cell: (r) => <Time at={text(r, 'start_time')} /> },
  name: {
    id: 'name', title: 'Name', width: 200, fields: ['span_name', 'span_type', 'status_code', 'status_message'], sort: 'loaded',
    cell: (r) => <span className="cell-name"><SpanType type={text(r, 'span_type')} /><b>{text(r, 'span_name')}</b><Status code={text(r, 'status_code')} message={text(r, 'status_message')} /></span>,
  },
  input: { id: 'input', title: 'Input', width: 220, grow: true, minor: true, fields: ['preview.inputs'], cell: (r) => <Preview text={text(r, 'preview.inputs')} /> },
  output: { id: 'output', title: 'Output', width: 220, grow: true, minor: true, fields: ['preview.outputs'], cell: (r) => <Preview text={text(r, 'preview.outputs') || text(r, 'status_message')} bad={!text(r, 'preview.outputs')} /> },
  duration: { id: 'duration', title: 'Duration', width: 92, right: true, sort: 'loaded', fields: ['duration_ms'], cell: (r) => <Duration ms={number(r, 'duration_ms')} /> },
  tokens: { id: 'tokens', title: 'Tokens', width: 78, right: true, sort: 'loaded', fields: ['total.tokens'], cell: (r) => <Tokens value={number(r, 'total.tokens')} /> },
  cost: { id: 'cost', title: 'Cost', width: 104, right: true, minor: true, sort: 'loaded', fields: ['total.cost'], cell: (r) => <Cost value={number(r, 'total.cost')} /> },
  errors: { id: 'errors', title: 'Errors', width: 70, right: true, sort: 'loaded', fields: ['total.errors'], cell: (r) => showCount(number(r, 'total.errors')) },
  spans: { id: 'spans', title: 'Spans', width: 70, right: true, sort: 'loaded', fields: ['total.spans'], cell: (r) => showCount(number(r, 'total.spans')) },
  type: { id: 'type', title: 'Type', width: 96, fields: ['span_type'], cell: (r) => text(r, 'span_type') },
  model: { id: 'model', title: 'Model', width: 140, fields: ['model'], cell: (r) => text(r, 'model') || '–' },
  provider: { id: 'provider', title: 'Provider', width: 110, fields: ['provider'], cell: (r) => text(r, 'provider') || '–' },
  app: { id: 'app', title: 'Application', width: 130, fields: ['application'], cell: (r) => text(r, 'application') || '–' },
  env: { id: 'env', title: 'Environment', width: 110, fields: ['environment'], cell: (r) => text(r, 'environment') || '–' },
  evaluator: { id: 'evaluator', title: 'Evaluator', width: 130, fields: ['evaluator'], cell: (r) => text(r, 'evaluator') || '–' },
  service: { id: 'service', title: 'Service', width: 120, fields: ['service'], cell: (r) => text(r, 'service') || '–' },
  user: { id: 'user', title: 'User', width: 120, fields: ['user_id'], cell: (r) => text(r, 'user_id') || '–' },
  session: { id: 'session', title: 'Session', width: 130, mono: true, fields: ['session_id'], cell: (r) => text(r, 'session_id') || '–' },
  message: { id: 'message', title: 'Status message', width: 220, fields: ['status_message'], cell: (r) => text(r, 'status_message') || '–' },
  trace: { id: 'trace', title: 'Trace id', width: 130, mono: true, fields: ['trace_id'], cell: (r) => text(r, 'trace_id') },
};

/** COLUMNS are those that can be chosen by name; any attribute and score can be added besides. */
export const COLUMNS: readonly { id: string; title: string }[] = Object.values(KNOWN).map((c) => ({ id: c.id, title: String(c.title) }));

export function column(id: string): Known {
  const known = Object.hasOwn(KNOWN, id) ? KNOWN[id] : undefined;
  if (known) return known;
  const score = id.startsWith('score.');
  return { id, title: score ? `★ ${id.slice(6)}` : id.replace(/^attributes\./, ''), name: id, width: score ? 90 : 150, fields: [id], cell: (r) => <Score value={r[id]} /> };
}

function Preview({ text, bad }: { text: string; bad?: boolean }) {
  // A preview is one line: what breaks it, and what turns its direction, is shown as space.
  return <span className={bad ? 'preview-bad' : 'preview'}>{text ? text.replaceAll(/[\s\u200e\u200f\u202a-\u202e\u2066-\u2069]+/g, ' ') : '–'}</span>;
}
