import { describe, expect, it } from 'vitest';
import { compile } from './filter';

const one: Record<string, unknown> = {
  inputs: '{"country":"France"}', outputs: 'Paris is the capital.', expected: 'Paris', latency: 812, cost: 0.0002, status: 'done', 'score.judge': 4, 'score.exact': true, 'score.none': null,
  '*': '{"country":"France"} Paris is the capital. Paris',
};
const test = (text: string) => {
  const found = compile(text);
  if (!found.ok) throw new Error(found.message);
  return found.test((field) => one[field]);
};

describe('a filter of cases', () => {
  it.each([
    ['', true], ['paris', true], ['"the capital"', true], ['london', false], ['-london', true],
    ['score.judge<5', true], ['score.judge>=4 score.exact:true', true], ['score.judge:[1..3]', false], ['score.none:*', false], ['score.none!:*', true], ['score.none<1', false],
    ['latency>800ms', true], ['latency<0.5s', false], ['cost<0.001', true], ['status:done', true], ['status:failed', false], ['not status:failed', true],
    ['outputs~CAPITAL', true], ['inputs~"fra"', true], ['expected:paris', true], ['expected:(rome paris)', true], ['outputs^Paris', true], ['outputs~="^P.+l\\\\.$"', true],
    ['score.judge:1 or score.exact:true', true], ['(score.judge:1 or score.judge:2) paris', false],
  ])('%s is %s', (text, wanted) => {
    expect(test(text)).toBe(wanted);
  });
  it('says what it cannot read', () => {
    expect(compile('nofield:x')).toMatchObject({ ok: false });
    expect(compile('score.judge>')).toMatchObject({ ok: false });
  });
});
