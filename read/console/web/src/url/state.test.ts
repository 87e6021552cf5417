import { describe, expect, it } from 'vitest';
import { decode, encode, entries, flag, list, range, sort, text, whole, widths, word } from './state';

const schema = {
  t: range('24h'),
  q: text(),
  focus: word(['traces', 'spans', 'annotations'], 'traces'),
  cols: list(['start', 'name']),
  sort: sort({ by: 'start', descending: true }),
  live: flag(),
  depth: whole(3, 0, 20),
  w: widths(),
};

describe('the state of a page', () => {
  it('reads what console.md shows', () => {
    const { state, broken } = decode('#t=24h&q=type:chat status:error&cols=start,name,duration,cost&sort=-start&sel=ab.cd', schema);
    expect(broken).toEqual([]);
    expect(state).toMatchObject({ t: { last: '24h' }, q: 'type:chat status:error', cols: ['start', 'name', 'duration', 'cost'], sort: { by: 'start', descending: true } });
  });
  it('leaves defaults out and keeps what it does not know', () => {
    const from = '#sel=ab.cd&q=x&z=UTC';
    expect(encode(from, schema, { q: '', focus: 'traces', depth: 3 })).toBe('sel=ab.cd&z=UTC');
    expect(encode(from, schema, { focus: 'spans' })).toBe('sel=ab.cd&q=x&z=UTC&focus=spans');
    expect(encode(from, schema, { q: 'y' })).toBe('sel=ab.cd&q=y&z=UTC');
  });
  it('reports a broken value and goes on without it', () => {
    const { state, broken } = decode('#t=soon&focus=span&depth=99&live=yes&w=name&sort=&q=ok', schema);
    expect(broken.map((b) => b.key)).toEqual(['t', 'focus', 'sort', 'live', 'depth', 'w']);
    expect(broken[1]).toEqual({ key: 'focus', value: 'span', message: 'it is one of traces, spans, annotations' });
    expect(state).toMatchObject({ t: { last: '24h' }, focus: 'traces', depth: 3, live: false, w: {}, q: 'ok' });
  });
  it('survives any text', () => {
    let seed = 7;
    const random = () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
    const alphabet = ['a', ' ', '&', '=', '#', '%', '+', '"', '<', '>', '`', '\n', '\t', 'é', '字', '😀', ',', ':', '~', '(', ')', "'", '\\', '%20', '\u007f'];
    for (let i = 0; i < 5000; i++) {
      const any = () => Array.from({ length: Math.floor(random() * 8) }, () => alphabet[Math.floor(random() * alphabet.length)]!).join('');
      const state = { q: any(), cols: Array.from({ length: 1 + Math.floor(random() * 3) }, () => `x${any()}`), w: { [`n${any().replaceAll(':', '')}`]: 20 + i % 100 } };
      const fragment = encode('', schema, state);
      expect(decode(fragment, schema).state).toMatchObject(state);
      // What the browser makes of the address is what we wrote.
      expect(entries(new URL(`http://x/#${fragment}`).hash)).toEqual(entries(fragment));
    }
  });
  it('is read where somebody wrote a percent sign by hand', () => {
    expect(decode('#q=100%25 sure', schema).state.q).toBe('100% sure');
    expect(decode('#q=100% sure', schema).state.q).toBe('100% sure');
  });
});
