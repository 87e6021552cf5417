import { lazy } from 'react';

const List = lazy(() => import('./list').then((m) => ({ default: m.List })));
const Run = lazy(() => import('./run').then((m) => ({ default: m.Run })));
const Compare = lazy(() => import('./compare').then((m) => ({ default: m.Compare })));
const New = lazy(() => import('./new'));

/** Evaluations lists runs, makes new ones, shows one, and compares several. */
export default function Evaluations({ id }: { id?: string | undefined }) {
  switch (id) {
    case undefined: return <List />;
    case 'new': return <New />;
    case 'compare': return <Compare />;
    default: return <Run id={id} />;
  }
}
