import { describe, expect, it } from 'vitest';
import { compare } from '../../worker/stats';
import { directionOf, failures, inCommon, meanOf, pair, readSheet, sideOf, spreadOf, stageOfCase, testsetName, verdict, type Grid, type Step } from './sheet';

const step = (key: string, type: Step['type'], references: Step['references'], ...inputs: string[]): Step => ({ key, type, origin: 'auto', references, inputs: inputs.map((i) => ({ key: i })) });
const steps: Step[] = [
  step('testset-ab', 'input', { testset: { slug: 'capitals' }, testset_revision: { slug: 'ab', version: '3' } }),
  step('application-cd', 'invocation', { application: { slug: 'bot' }, application_revision: { slug: 'cd', version: '7' } }, '__all_inputs__'),
  step('evaluator-ef', 'annotation', { evaluator: { slug: 'exact' }, evaluator_revision: { slug: 'ef', version: '1' } }, '__all_invocations__', '__all_inputs__'),
  step('evaluator-gh', 'annotation', { evaluator: { slug: 'judge' }, evaluator_revision: { slug: 'gh', version: '1' } }, '__all_invocations__', '__all_inputs__'),
];

const n = 40;
const two = (of: (run: number, i: number) => unknown) => [...Array.from({ length: n }, (_, i) => of(0, i)), ...Array.from({ length: n }, (_, i) => of(1, i))];
const grid: Grid = {
  count: 2 * n,
  columns: {
    run_id: two((run) => `r${run}`), scenario_id: two((run, i) => `s${run}-${i}`), testcase_id: two((run, i) => (run && i === 0 ? 'only-b' : `case-${i}`)), repeat: two(() => 0), 'preview.inputs': two((_, i) => `input ${i}`),
    'status.application-cd': two((run, i) => (run && i === 3 ? 'failure' : 'success')), 'trace_id.application-cd': two((run, i) => `t${run}${i}`), latency_ms: two((run, i) => 800 + i + (run ? 100 : 0)), cost: two(() => 0.001),
    'status.evaluator-ef': two((run, i) => (run && i === 3 ? 'cancelled' : 'success')), 'evaluator-ef.success': two((run, i) => (run ? i % 10 !== 0 : i % 2 === 0)),
    'status.evaluator-gh': two((_, i) => (i === 5 ? 'failure' : 'success')), 'evaluator-gh.score': two((_, i) => 3 + (i % 3)), 'evaluator-gh.reason': two(() => 'because'),
  },
  schemas: { 'evaluator-gh.score': { type: 'number', 'x-better': 'higher' } },
};
const sides = () => ['r0', 'r1'].map((run) => sideOf(readSheet(grid, steps, run)));

describe('the sheet of a run', () => {
  it('finds cases, applications and scores by the steps', () => {
    const sheet = readSheet(grid, steps, 'r1');
    expect(sheet.cases).toHaveLength(n);
    expect(sheet.cases[1]).toMatchObject({ key: 's1-1', testcase: 'case-1', inputs: 'input 1', rows: [n + 1] });
    expect(sheet.applications.map((a) => [a.name, a.trace?.[n]])).toEqual([['bot v7', 't10']]);
    expect(sheet.scores.map((s) => s.name)).toEqual(['exact', 'judge']);
    expect(sheet.notes.map((s) => s.name)).toEqual(['judge.reason']);
    expect(testsetName(steps)).toBe('capitals v3');
  });
  it('tells what failed, and what has to run again', () => {
    const sheet = readSheet(grid, steps, 'r1');
    expect([3, 4, 5].map((i) => stageOfCase(sheet, sheet.cases[i]!))).toEqual(['failed', 'done', 'failed']);
    expect(failures(sheet, steps)).toEqual([
      { scenario_ids: ['s1-3'], step_keys: ['application-cd', 'evaluator-ef', 'evaluator-gh'] }, { scenario_ids: ['s1-5'], step_keys: ['evaluator-gh'] },
    ]);
  });
  it('gives each of several applications its own scores', () => {
    const judge = { evaluator: { slug: 'judge' } };
    const sheet = readSheet({ count: 1, columns: { scenario_id: ['s'], 'latency_ms.a': [1], 'latency_ms.b': [2], 'j.a.score': [1], 'j.a.deep.x': [2], 'j.b.score': [3], 'status.j.b': ['success'] } }, [
      step('a', 'invocation', { application: { slug: 'one' } }), step('b', 'invocation', { application: { slug: 'two' } }), step('j.a', 'annotation', judge, 'a'), step('j.b', 'annotation', judge, 'b'),
    ]);
    expect(sheet.scores.map((s) => [s.application, s.name])).toEqual([['a', 'judge.deep.x'], ['a', 'judge.score'], ['b', 'judge']]);
    expect([...sideOf(sheet, 'b').columns.keys()]).toEqual(['judge', 'latency']);
  });
  it('averages repeats and shows how far they lie apart', () => {
    const values = [1, 0, null, true];
    expect(meanOf(values, [0, 1, 2])).toBe(0.5);
    expect(meanOf(values, [2])).toBeNull();
    expect(spreadOf(values, [0, 1])).toEqual([0, 1]);
    expect(spreadOf(values, [0, 3])).toBeNull();
    expect(spreadOf(values, [0])).toBeNull();
  });
});

describe('a comparison of runs', () => {
  it('takes the cases that all have', () => {
    const [a, b] = sides();
    const { common, only } = inCommon([a!, b!]);
    expect(common).toHaveLength(n - 1);
    expect(only).toBe(2);
    expect(pair(a!, b!, common).map((s) => [s.name, s.boolean, s.higher])).toEqual([['exact', true, true], ['judge', false, true], ['latency', false, false], ['cost', false, false]]);
  });
  it('says what got better and worse, and no more than it knows', () => {
    const [a, b] = sides();
    const scores = pair(a!, b!, inCommon([a!, b!]).common);
    const found = compare(scores);
    expect(found.map((c, i) => verdict(c, scores[i]!.higher))).toEqual(['better', 'same', 'worse', 'same']);
    expect(verdict(found[2]!, null)).toBe('different');
  });
  it('reads the direction from the schema, and knows it of yes and no', () => {
    expect(directionOf([0.1], { 'x-better': 'lower' })).toBe(false);
    expect(directionOf([1], { 'x-better': 'higher' })).toBe(true);
    expect(directionOf([true], undefined)).toBe(true);
    expect(directionOf([1], undefined)).toBeNull();
  });
});
