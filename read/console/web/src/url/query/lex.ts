// Reading the characters of a query: words, quoted texts and JSON.

export class QueryError extends Error {
  /** from and to say where in the text; expected is what would be right there. */
  constructor(message: string, readonly from: number, readonly to: number, readonly expected?: string) {
    super(message);
    this.name = 'QueryError';
  }
}

/** Cursor goes through a text. */
export class Cursor {
  at = 0;

  constructor(readonly text: string) {}

  get done(): boolean {
    return this.at >= this.text.length;
  }

  peek(length = 1): string {
    return this.text.slice(this.at, this.at + length);
  }

  skip(): void {
    while (/\s/.test(this.peek())) this.at++;
  }

  /** take goes over a text if it stands here. */
  take(text: string): boolean {
    if (!this.text.startsWith(text, this.at)) return false;
    this.at += text.length;
    return true;
  }

  match(pattern: RegExp): string | undefined {
    const sticky = new RegExp(pattern.source, 'yu');
    sticky.lastIndex = this.at;
    const found = sticky.exec(this.text)?.[0];
    if (found) this.at += found.length;
    return found || undefined;
  }

  fail(message: string, from = this.at, to = Math.max(from + 1, this.at), expected?: string): never {
    throw new QueryError(message, from, Math.min(to, Math.max(from, this.text.length)), expected);
  }

  /** quoted reads a text between quotes, with the escapes of JSON. */
  quoted(): string {
    const from = this.at;
    this.at++;
    for (; this.at < this.text.length; this.at++) {
      const c = this.text[this.at];
      if (c === '\\') this.at++;
      else if (c === '"') {
        this.at++;
        const body = this.text.slice(from, this.at);
        try {
          // oxlint-disable-next-line no-control-regex -- line breaks and tabs that were pasted in
          return JSON.parse(body.replaceAll(/[\u0000-\u001f]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)) as string;
        } catch {
          this.fail('A backslash within quotes stands before another one, a quote, or n, t, r, u.', from, this.at);
        }
      }
    }
    this.at = this.text.length;
    return this.fail('These quotes are not closed.', from, this.text.length, '"');
  }

  /** json reads an object or a list. */
  json(): unknown {
    const from = this.at;
    let depth = 0;
    for (; this.at < this.text.length; this.at++) {
      const c = this.text[this.at]!;
      if (c === '"') {
        this.at++;
        while (this.at < this.text.length && this.text[this.at] !== '"') this.at += this.text[this.at] === '\\' ? 2 : 1;
      } else if (c === '{' || c === '[') depth++;
      else if ((c === '}' || c === ']') && --depth === 0) {
        this.at++;
        try {
          return JSON.parse(this.text.slice(from, this.at));
        } catch (error) {
          this.fail(`This is not JSON: ${error instanceof Error ? error.message : ''}`, from, this.at);
        }
      }
    }
    this.at = this.text.length;
    return this.fail('This JSON is not closed.', from, this.text.length, '}');
  }
}

/** A word of a value ends at space, quotes, brackets and commas, and before 'c or 'x at its end. */
export const VALUE = /(?:(?!(?:'[cx]+)+(?:[\s)\],]|$))[^\s()"{}[\],])+/;

/** In a range a word ends before its two dots as well. */
export const BOUND = /(?:(?!\.\.)[^\s()"{}[\],])+/;

/** The name of a field. */
export const NAME = /[\p{L}\p{N}_@/*-]+(?:\.[\p{L}\p{N}_@/*-]+)*\.?/u;

/** What is searched for, without quotes. */
export const WORD = /[^\s()"{}]+/;
