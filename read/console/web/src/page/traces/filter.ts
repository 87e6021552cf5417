// What a list shows of a query.

import { group, isGroup, parse, toFilter, type Group, type Query } from '../../url/query';

export type Focus = 'traces' | 'spans' | 'annotations';

/** filterOf is the filter of a text and of the list it is for; undefined while the text cannot be read. */
export function filterOf(q: string, focus: Focus): { filtering: Group | undefined } | undefined {
  const parsed = parse(q);
  if (!parsed.ok) return undefined;
  return { filtering: toFilter(ofType(parsed.query, focus === 'annotations' ? 'annotation' : 'invocation')) };
}

/** ofType restricts a filter to traces of one type, unless the filter itself names a type or a trace. */
export function ofType(query: Query | null, type: 'annotation' | 'invocation'): Query {
  const own: Query = { field: 'trace_type', operator: 'is', value: type };
  if (query === null) return own;
  if (type === 'invocation' && names(query)) return query;
  return group('and', [query, own]);
}

const names = (query: Query): boolean => (isGroup(query) ? query.conditions.some(names) : ['trace_type', 'trace_id', 'span_id'].includes(query.field));
