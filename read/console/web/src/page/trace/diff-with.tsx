import { useMemo, useState } from 'react';
import type { Columns } from '../../api/types';
import { Button } from '../../kit/button/button';
import { Dialog } from '../../kit/dialog/dialog';
import { Failure, Skeleton } from '../../kit/state/state';
import { Status, Time } from '../../kit/value/value';
import { useApi } from '../../shell/session';
import { showDuration } from '../../url/number';
import { condition, group } from '../../url/query';
import { rowsOf } from '../traces/data';
import css from './diff-with.module.css';

/** DiffWith asks for the trace to compare with: an earlier one of the same name, or a pasted id. */
export function DiffWith({ id, name, start, onChoose, close }: { id: string; name: string; start: string; onChoose: (trace: string) => void; close: () => void }) {
  const [text, setText] = useState('');
  const found = useApi<Columns>('POST', '/traces/query', { body: {
    filtering: group('and', [condition('span_name', 'is', name), condition('trace_type', 'is', 'invocation')]),
    windowing: { newest: start, limit: 20, order: 'descending' }, select: ['trace_id', 'span_name', 'start_time', 'duration_ms', 'status_code', 'preview.inputs'], preview: 120,
  } });
  const rows = useMemo(() => (found.data ? rowsOf(found.data) : []).filter((r) => r['trace_id'] !== id && r['span_name'] === name), [found.data, id, name]);
  const pasted = text.trim().toLowerCase().replaceAll('-', '');
  return (
    <Dialog title={`Compare ${name} with`} onClose={close} actions={<Button look="accent" isDisabled={!/^[0-9a-f]{32}$/.test(pasted)} onPress={() => onChoose(pasted)}>Compare</Button>}>
      <label className={css['field']}>Trace id<input autoFocus value={text} placeholder="32 hex digits" onChange={(e) => setText(e.target.value)} onKeyDown={(e) => { if (e.key === 'Enter' && /^[0-9a-f]{32}$/.test(pasted)) onChoose(pasted); }} /></label>
      <h3>Earlier traces of the same name</h3>
      {found.error ? <Failure compact error={found.error} retry={() => void found.refetch()} /> : found.isPending ? <Skeleton rows={4} /> : rows.length === 0 ? <p>There is none.</p> : (
        <ul className={css['list']}>{rows.map((r) => (
          <li key={String(r['trace_id'])}><button type="button" onClick={() => onChoose(String(r['trace_id']))}>
            <Time at={String(r['start_time'])} /><Status code={String(r['status_code'])} /><span>{String(r['preview.inputs'] ?? '')}</span><b>{showDuration(typeof r['duration_ms'] === 'number' ? r['duration_ms'] : null)}</b>
          </button></li>
        ))}</ul>
      )}
    </Dialog>
  );
}
