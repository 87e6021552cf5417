// Streams over fetch: server-sent events and NDJSON. EventSource sends no headers,
// and so knows neither project nor token.

export interface ServerEvent { event: string; data: string }

/** The longest line that is kept. What sends longer ones is not our service. */
const MOST = 64 << 20;

/** lines splits a stream of bytes, whose chunks end anywhere, also within a letter. */
export async function* lines(body: ReadableStream<Uint8Array>, signal?: AbortSignal, most = MOST): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const stop = () => void reader.cancel().catch(() => undefined);
  signal?.addEventListener('abort', stop, { once: true });
  let held: string[] = [];
  let length = 0;
  let returned = false; // the last chunk ended between \r and \n
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (signal?.aborted) return;
      let text = decoder.decode(value, { stream: !done });
      if (returned && text) {
        if (text.startsWith('\n')) text = text.slice(1);
        returned = false;
      }
      let from = 0;
      for (let at = from; at < text.length; at++) {
        const c = text.charCodeAt(at);
        if (c !== 10 && c !== 13) continue;
        held.push(text.slice(from, at));
        yield held.join('');
        held = [];
        length = 0;
        if (c === 13) {
          if (at + 1 === text.length) returned = true;
          else if (text.charCodeAt(at + 1) === 10) at++;
        }
        from = at + 1;
      }
      if (from < text.length) {
        held.push(text.slice(from));
        length += text.length - from;
        if (length > most) throw new Error(`A line of the stream is longer than ${most} characters.`);
      }
      if (done) {
        if (length) yield held.join('');
        return;
      }
    }
  } finally {
    signal?.removeEventListener('abort', stop);
    await reader.cancel().catch(() => undefined);
  }
}

/** events reads server-sent events. Source: HTML Living Standard, 9.2.6. */
export async function* events(body: ReadableStream<Uint8Array>, signal?: AbortSignal): AsyncGenerator<ServerEvent> {
  let event = '';
  let data: string[] = [];
  for await (const line of lines(body, signal)) {
    if (line === '') {
      if (data.length) yield { event: event || 'message', data: data.join('\n') };
      event = '';
      data = [];
      continue;
    }
    const at = line.indexOf(':');
    if (at === 0) continue; // a comment that keeps the connection alive
    const name = at < 0 ? line : line.slice(0, at);
    const value = at < 0 ? '' : line.slice(at + 1).replace(/^ /, '');
    if (name === 'event') event = value;
    else if (name === 'data') data.push(value);
  }
}

/** ndjson reads one JSON value a line. */
export async function* ndjson(body: ReadableStream<Uint8Array>, signal?: AbortSignal): AsyncGenerator<unknown> {
  for await (const line of lines(body, signal)) if (line.trim()) yield JSON.parse(line) as unknown;
}
