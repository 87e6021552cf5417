import type { ReactNode } from 'react';
import { Failure, Skeleton } from '../../kit/state/state';
import css from './page.module.css';

/** Block is one part of the overview. It loads and fails alone. */
export function Block({ children, error, retry, loading }: { children: ReactNode; error?: Error | null; retry?: () => void; loading?: boolean }) {
  return <section className={css['block']}>{error ? <Failure compact error={error} {...(retry && { retry })} /> : loading ? <Skeleton rows={5} widths={[40, 20, 20]} /> : children}</section>;
}
