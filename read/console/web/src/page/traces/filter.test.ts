import { describe, expect, it } from 'vitest';
import { condition, group, parse } from '../../url/query';
import { filterOf, ofType } from './filter';

const annotation = condition('trace_type', 'is', 'annotation');
const invocation = condition('trace_type', 'is', 'invocation');

describe('the filter of a list', () => {
  it('shows runs, and annotations where they are asked for', () => {
    expect(filterOf('', 'traces')).toEqual({ filtering: group('and', [invocation]) });
    expect(filterOf('', 'annotations')).toEqual({ filtering: group('and', [annotation]) });
    expect(filterOf('name:a', 'spans')!.filtering).toEqual(group('and', [condition('span_name', 'is', 'a'), invocation]));
    expect(filterOf('name:', 'spans')).toBeUndefined();
  });
  it('leaves a filter alone that names a type or a trace', () => {
    for (const text of ['trace:annotation', 'name:a or trace:annotation', 'id:6d6644c5e1f1a7f2b7a2c0c1d2e3f4a5', 'span:f3cc000000000000']) {
      const parsed = parse(text);
      if (!parsed.ok) throw new Error(text);
      expect(ofType(parsed.query, 'invocation')).toEqual(parsed.query);
    }
  });
});
