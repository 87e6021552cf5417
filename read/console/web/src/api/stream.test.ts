import { describe, expect, it } from 'vitest';
import { events, lines, ndjson } from './stream';

function stream(chunks: Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    pull(c) {
      const next = chunks.shift();
      if (next) c.enqueue(next);
      else c.close();
    },
  });
}

async function all<T>(source: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of source) found.push(item);
  return found;
}

const bytes = (text: string) => new TextEncoder().encode(text);

describe('streams', () => {
  it('gives the same lines wherever the chunks end', async () => {
    const text = 'event: span\r\ndata: {"a":"é 字 😀"}\r\n\r\n: heartbeat\n\ndata: one\ndata: two\n\nevent: end\ndata: {"reason":"stopping"}\n\nignored: x\n\ndata: cut off';
    const whole = bytes(text);
    const want = [{ event: 'span', data: '{"a":"é 字 😀"}' }, { event: 'message', data: 'one\ntwo' }, { event: 'end', data: '{"reason":"stopping"}' }];
    for (let size = 1; size <= whole.length; size++) {
      const chunks: Uint8Array[] = [];
      for (let at = 0; at < whole.length; at += size) chunks.push(whole.slice(at, at + size));
      expect(await all(events(stream(chunks))), `chunks of ${size}`).toEqual(want);
    }
  });
  it('reads NDJSON, also without a last line break', async () => {
    expect(await all(ndjson(stream([bytes('{"a":1}\n\n{"a'), bytes('":2}')])))).toEqual([{ a: 1 }, { a: 2 }]);
  });
  it('ends with the signal and lets the source go', async () => {
    let cancelled = false;
    const endless = new ReadableStream<Uint8Array>({
      pull: (c) => c.enqueue(bytes('x\n')),
      cancel: () => void (cancelled = true),
    });
    const stop = new AbortController();
    let seen = 0;
    for await (const _ of lines(endless, stop.signal)) if (++seen === 10) stop.abort();
    expect(seen).toBe(10);
    expect(cancelled).toBe(true);
  });
  it('does not hold a line without end', async () => {
    await expect(all(lines(stream([bytes('x'.repeat(20)), bytes('x'.repeat(20))]), undefined, 30))).rejects.toThrow('longer than 30');
  });
});
