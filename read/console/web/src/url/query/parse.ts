// The query language: text to tree. Its grammar is in the help of the query bar.

import { find, keyed, type Field } from './field';
import { BOUND, Cursor, NAME, QueryError, VALUE, WORD } from './lex';
import { condition, group, isGroup, normal, type Condition, type Json, type Operator, type Option, type Query } from './tree';
import { readWord } from './value';

export type Parsed =
  | { ok: true; query: Query | null; places: Map<Query, [from: number, to: number]> }
  | { ok: false; error: QueryError };

/** parse reads a query. places says where each condition and group stands. */
export function parse(text: string): Parsed {
  const parser = new Parser(new Cursor(text));
  try {
    return { ok: true, query: parser.all(), places: parser.places };
  } catch (error) {
    if (error instanceof QueryError) return { ok: false, error };
    throw error;
  }
}

// Which list a sequence was, before parentheses close around it: nand(a b) has two conditions, nand((a b)) one.
interface Read { query: Query; bare?: 'and' | 'or' }

class Parser {
  readonly places = new Map<Query, [number, number]>();
  private depth = 0;

  constructor(private readonly c: Cursor) {}

  all(): Query | null {
    this.c.skip();
    if (this.c.done) return null;
    const { query } = this.or();
    this.c.skip();
    if (!this.c.done) this.c.fail(this.c.peek() === ')' ? 'This bracket closes nothing.' : 'This cannot be read.');
    return query;
  }

  private or(): Read {
    const from = this.c.at;
    const first = this.and();
    const rest: Query[] = [];
    while (this.keyword('or')) rest.push(this.and().query);
    if (!rest.length) return first;
    return { query: this.placed(group('or', [first.query, ...rest]), from), bare: 'or' };
  }

  private and(): Read {
    this.c.skip();
    const from = this.c.at;
    const first = this.unary();
    const list = [first];
    for (;;) {
      const explicit = this.keyword('and');
      this.c.skip();
      if (!explicit && (this.c.done || this.c.peek() === ')' || this.atKeyword('or'))) break;
      list.push(this.unary());
    }
    if (list.length === 1) return { query: first };
    return { query: this.placed(group('and', list), from), bare: 'and' };
  }

  private unary(): Query {
    this.c.skip();
    const from = this.c.at;
    if (this.c.peek() === '-' && !/^-(?:\s|$)/.test(this.c.peek(2))) {
      this.c.at++;
      return this.placed(group('not', [this.primary()]), from);
    }
    if (this.keyword('not')) {
      this.c.skip();
      return this.placed(group('not', [this.primary()]), from);
    }
    return this.primary();
  }

  private primary(): Query {
    const c: Cursor = this.c;
    if (c.done) c.fail('Something is missing here.', c.at, c.at, 'a condition');
    // Deeper than this the API refuses as well.
    if (this.depth > 40) c.fail('Groups stand within each other too deeply.');
    const from = c.at;
    if (c.peek() === '(') return this.inBrackets().query;
    if (c.peek() === '{') return this.literal();
    for (const operator of ['nand', 'nor'] as const) {
      if (c.peek(operator.length + 1).toLowerCase() === `${operator}(`) {
        c.at += operator.length;
        const { query, bare } = this.inBrackets();
        const kept = bare === (operator === 'nand' ? 'and' : 'or') && isGroup(query) ? query.conditions : [query];
        return this.placed(group(operator, kept), from);
      }
    }
    if (c.peek() === '"') {
      const phrase = c.quoted();
      if (this.atOperator()) return this.condition(keyed('attributes', phrase), from);
      return this.placed(condition('content', 'contains', c.text.slice(from, c.at) === `"${phrase}"` ? `"${phrase}"` : `"${phrase.replaceAll('"', ' ')}"`), from);
    }
    const name = c.match(NAME);
    if (name && this.atOperator()) {
      const field = find(name);
      if (!field) {
        c.fail(`There is no field ${name}. An attribute of this name is attributes.${name}; to search for the text, put it between quotes.`, from, from + name.length, 'a field');
      }
      return this.condition(field, from);
    }
    c.at = from;
    return this.word();
  }

  private word(): Query {
    const from = this.c.at;
    const word = this.c.match(WORD);
    if (!word) this.c.fail(`${this.c.peek()} cannot stand here.`, from, from + 1, 'a condition');
    if (word === 'root') return this.placed(condition('root', 'is', true), from);
    return this.placed(condition('content', 'contains', word), from);
  }

  private inBrackets(): Read {
    const from = this.c.at;
    this.c.at++;
    this.depth++;
    this.c.skip();
    if (this.c.peek() === ')') this.c.fail('There is nothing between these brackets.', from, this.c.at + 1, 'a condition');
    const read = this.or();
    this.c.skip();
    if (!this.c.take(')')) this.c.fail('This bracket is not closed.', from, from + 1, ')');
    this.depth--;
    return read;
  }

  private literal(): Query {
    const from = this.c.at;
    const value = this.c.json();
    try {
      return this.placed(normal(value, 'this'), from);
    } catch (error) {
      if (error instanceof QueryError) throw error;
      return this.c.fail(`As a condition: ${error instanceof Error ? error.message : String(error)}.`, from, this.c.at);
    }
  }

  private atOperator(): boolean {
    return /^(?:[:=<>~^$]|!:|!=)/.test(this.c.peek(2));
  }

  private condition(f: Field, from: number): Query {
    const c: Cursor = this.c;
    const make = (operator: Operator, value?: Json, options?: Option[]) => this.placed(condition(f.field, operator, value, f.key, options), from);
    const negative = c.take('!');
    if (c.take(':')) {
      if (c.take('*')) return make(negative ? 'not_exists' : 'exists');
      if (c.peek() === '(') return make(negative ? 'not_in' : 'in', this.list(f));
      if (!negative && c.take('[')) return make('btwn', this.bounds(f));
      return make(negative ? 'is_not' : 'is', this.value(f));
    }
    if (c.take('=')) return make(negative ? 'neq' : 'eq', this.value(f));
    for (const [sign, operator] of [['>=', 'gte'], ['>', 'gt'], ['<=', 'lte'], ['<', 'lt'], ['~~', 'like'], ['~=', 'matches'], ['~', 'contains'], ['^', 'startswith'], ['$', 'endswith']] as const) {
      if (c.take(sign)) {
        const value = this.value(f);
        return make(operator, value, this.options());
      }
    }
    return c.fail('This operator is not known.', from, c.at, ': = != > >= < <= ~ ^ $');
  }

  private value(f: Field): Json {
    const c: Cursor = this.c;
    if (c.peek() === '"') return c.quoted();
    if (c.peek() === '{' || c.peek() === '[') return c.json() as Json;
    const word = c.match(VALUE);
    if (!word) c.fail('A value is missing here.', c.at, c.at + 1, 'a value');
    return readWord(word, f.kind);
  }

  private list(f: Field): Json[] {
    const from = this.c.at++;
    const values: Json[] = [];
    for (;;) {
      while (/[\s,]/.test(this.c.peek())) this.c.at++;
      if (this.c.take(')')) return values;
      if (this.c.done) this.c.fail('This list is not closed.', from, this.c.at, ')');
      values.push(this.value(f));
    }
  }

  private bounds(f: Field): Json[] {
    const c: Cursor = this.c;
    const bound = (): Json => {
      c.skip();
      if (c.peek() === '"') return c.quoted();
      const word = c.match(BOUND);
      if (!word) c.fail('A bound is missing here.', c.at, c.at + 1, 'a value');
      return readWord(word, f.kind);
    };
    const low = bound();
    c.skip();
    if (!c.take('..')) c.fail('Two dots stand between the bounds.', c.at, c.at + 1, '..');
    const high = bound();
    c.skip();
    if (!c.take(']')) c.fail('This range is not closed.', c.at, c.at + 1, ']');
    return [low, high];
  }

  private options(): Option[] {
    const found: Option[] = [];
    while (this.c.take("'")) {
      const letters = this.c.match(/[cx]+/);
      if (!letters) this.c.fail("After the value stands 'c for case sensitive, or 'x for exact.", this.c.at - 1, this.c.at + 1, "'c");
      if (letters.includes('c')) found.push('case_sensitive');
      if (letters.includes('x')) found.push('exact_match');
    }
    return found;
  }

  private atKeyword(word: string): boolean {
    return this.c.peek(word.length).toLowerCase() === word && /^(?:[\s("{]|$)/.test(this.c.text.slice(this.c.at + word.length, this.c.at + word.length + 1));
  }

  private keyword(word: string): boolean {
    const from = this.c.at;
    this.c.skip();
    if (!this.atKeyword(word)) {
      this.c.at = from;
      return false;
    }
    this.c.at += word.length;
    return true;
  }

  private placed<Q extends Query>(query: Q, from: number): Q {
    this.places.set(query, [from, this.c.at]);
    return query;
  }
}

/** isText reports whether a condition is a word or a phrase that is searched for. */
export function isText(query: Query): query is Condition {
  return !isGroup(query) && query.field === 'content';
}
