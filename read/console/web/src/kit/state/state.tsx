import { CircleAlert, RotateCw } from 'lucide-react';
import type { ReactNode } from 'react';
import type { ApiError } from '../../api/errors';
import { Button } from '../button/button';
import css from './state.module.css';

/** Empty says why there is nothing and what to do next. */
export function Empty({ title, children, actions }: { title: string; children?: ReactNode; actions?: ReactNode }) {
  return (
    <div className={css['empty']} role="status">
      <svg width="56" height="40" viewBox="0 0 56 40" aria-hidden="true"><path d="M4 4h48v4H4zM4 34h48v4H4z" /><path d="M10 12h6v18h-6zM25 12h6v18h-6zM40 12h6v18h-6z" opacity=".55" /></svg>
      <p className={css['title']}>{title}</p>
      {children && <div className={css['text']}>{children}</div>}
      {actions && <div className={css['actions']}>{actions}</div>}
    </div>
  );
}

const NEXT: Partial<Record<ApiError['failure'], string>> = {
  offline: 'The service could not be reached.',
  forbidden: 'You may not see this.',
  busy: 'The service has too much to do.',
  unavailable: 'The service is not ready.',
  'too-large': 'This is too much at once. A shorter range or a narrower filter helps.',
};

/** Failure shows an error as an error: in the service's words, with the request and a way to try again. */
export function Failure({ error, retry, compact }: { error: ApiError | Error; retry?: () => void; compact?: boolean }) {
  const api = 'failure' in error ? error : undefined;
  const title = (api && NEXT[api.failure]) ?? 'This did not work.';
  return (
    <div className={css['failure']} role="alert" data-compact={compact || undefined}>
      <CircleAlert size={18} aria-hidden />
      <div>
        <p className={css['title']}>{title}</p>
        {error.message !== title && <p className={css['text']}>{error.message}</p>}
        {api && (
          <p className={css['request']}>
            {api.details.request} {api.status > 0 && <>· {api.status}</>}{api.details.requestId && <> · {api.details.requestId}</>}
          </p>
        )}
        {retry && <Button small icon={RotateCw} onPress={retry}>Try again</Button>}
      </div>
    </div>
  );
}

/** Skeleton is the shape of what comes. It shows after 150 ms, so that what is quick does not flicker. */
export function Skeleton({ rows = 8, widths = [14, 22, 36, 10, 8] }: { rows?: number; widths?: readonly number[] }) {
  return (
    <div className={css['skeleton']} role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, row) => (
        <div key={row} aria-hidden="true">{widths.map((width, i) => <span key={i} ref={(e) => { if (e) e.style.width = `${width * (0.6 + ((row * 7 + i * 3) % 5) / 10)}%`; }} />)}</div>
      ))}
    </div>
  );
}
