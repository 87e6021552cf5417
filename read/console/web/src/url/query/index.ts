// The query language: one filter as text, as chips, and as JSON.

export { find, known, NAMES, type Field } from './field';
export { QueryError } from './lex';
export { isText, parse, type Parsed } from './parse';
export { leaf, print } from './print';
export { condition, equal, fromFilter, group, isGroup, toFilter, type Condition, type Group, type Json, type Operator, type Query } from './tree';
