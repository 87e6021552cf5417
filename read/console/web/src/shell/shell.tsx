import { ChevronsLeft, ChevronsRight, CircleHelp, Command, LogOut, Monitor, Moon, RotateCw, Sun } from 'lucide-react';
import { lazy, Suspense, useEffect, useState, type ReactNode } from 'react';
import { useQuery } from '@tanstack/react-query';
import { IconButton } from '../kit/button/button';
import { Link } from '../kit/link/link';
import { Menu } from '../kit/menu/menu';
import { RangePicker, ZonePicker } from '../kit/range/range';
import { copy, toast, Toasts } from '../kit/toast/toast';
import { refresh, useClock } from './clock';
import { useKeys } from './keys';
import { PAGES } from './pages';
import { address, CONSOLE, go, SERVICE } from './place';
import { setPrefs, usePrefs } from './prefs';
import { projectId, queries, signOut, useSession } from './session';
import { useFragment } from '../url/use';
import { encode, text } from '../url/state';
import css from './shell.module.css';

const Help = lazy(() => import('./help'));
const Palette = lazy(() => import('../kit/palette/palette'));

const projectKey = { p: text() };

/** Shell is what every page stands in: navigation, bar, keys and messages. */
export function Shell({ children }: { children: ReactNode }) {
  const { wide, theme } = usePrefs();
  const { session, pending } = useSession();
  const clock = useClock();
  const [palette, setPalette] = useState(false);
  const [help, setHelp] = useState(false);
  useFragment();
  const path = location.pathname.slice(CONSOLE.length) || '/';
  const here = PAGES.findLast((p) => (p.path === '/' ? path === '/' : path.startsWith(`/${p.path.split('/')[1]}`)));

  useKeys('Everywhere', {
    'Mod+k': { about: 'Go anywhere', run: () => setPalette(true) },
    '?': { about: 'The keys of this page', run: () => setHelp(true) },
    r: { about: 'Refresh', run: refreshAll },
    '[': { about: 'Earlier by one range', run: () => clock.move(-1) },
    ']': { about: 'Later by one range', run: () => clock.move(1) },
    c: { about: 'Copy the address of this page', run: () => void copy(location.href, 'Address') },
    ...Object.fromEntries(PAGES.map((p) => [`g ${p.key}`, { about: p.title, run: () => go(address(p.path)) }])),
  });

  const projects = session?.projects ?? [];
  const current = projects.find((p) => p.project_id === projectId());
  return (
    <div className={css['shell']} data-wide={wide || undefined}>
      <nav className={css['nav']} aria-label="Pages">
        <a className={css['skip']} href={`${location.pathname}${location.hash || '#'}`} onClick={(e) => { e.preventDefault(); document.getElementById('page')?.focus(); }}>Skip to the page</a>
        <Link to="/" className={css['brand']!} aria-label="Colonnade, Overview"><Mark /><span>Colonnade</span></Link>
        {[0, 1, 2].map((group) => (
          <ul key={group}>
            {PAGES.filter((p) => p.group === group).map((p) => (
              <li key={p.path}><Link to={p.path} aria-current={p === here ? 'page' : undefined} title={p.title}><p.icon size={17} strokeWidth={1.7} aria-hidden /><span>{p.title}</span></Link></li>
            ))}
          </ul>
        ))}
        <button type="button" className={css['fold']} onClick={() => setPrefs({ wide: !wide })} aria-label={wide ? 'Narrow navigation' : 'Wide navigation'}>{wide ? <ChevronsLeft size={15} aria-hidden /> : <ChevronsRight size={15} aria-hidden />}</button>
      </nav>
      <header className={css['top']}>
        {projects.length > 1
          ? <Menu label={`Project ${current?.project_name ?? ''}`} text={<><b>{current?.project_name}</b> ▾</>} items={projects.map((p) => ({ id: p.project_id, text: p.project_name, on: p === current, run: () => chooseProject(p.project_id) }))} />
          : <span className={css['project']} title={current ? `${current.organization_name} / ${current.workspace_name}` : undefined}>{current?.project_name}</span>}
        <span className={css['where']} aria-hidden="true">{here?.title}</span>
        <span className={css['space']} />
        {pending && <span className={css['pending']} role="status">still arriving</span>}
        <RangePicker />
        <ZonePicker />
        <IconButton icon={RotateCw} label="Refresh" keys="r" onPress={refreshAll} />
        <IconButton icon={Command} label="Go anywhere" keys="⌘K" onPress={() => setPalette(true)} />
        <IconButton icon={CircleHelp} label="Keys of this page" keys="?" onPress={() => setHelp(true)} />
        <Menu label="You" icon={theme === 'dark' ? Moon : theme === 'light' ? Sun : Monitor} items={[
          { id: 'light', text: 'Light', icon: Sun, on: theme === 'light', run: () => setPrefs({ theme: 'light' }) },
          { id: 'dark', text: 'Dark', icon: Moon, on: theme === 'dark', run: () => setPrefs({ theme: 'dark' }) },
          { id: 'system', text: 'As the system', icon: Monitor, on: theme === 'system', run: () => setPrefs({ theme: 'system' }) },
          '-',
          { id: 'out', text: `Sign out ${session?.user.username ?? session?.user.email ?? ''}`, icon: LogOut, run: () => void signOut().catch((e: unknown) => toast(String(e), { bad: true })) },
        ]} />
      </header>
      <Ready />
      <main id="page" className={css['page']} tabIndex={-1}>{children}</main>
      <Toasts />
      {palette && <Suspense><Palette close={() => setPalette(false)} /></Suspense>}
      {help && <Suspense><Help close={() => setHelp(false)} /></Suspense>}
    </div>
  );
}

function refreshAll(): void {
  refresh();
  void queries.invalidateQueries();
}

function chooseProject(id: string): void {
  queries.clear();
  go(`${location.pathname}#${encode(location.hash, projectKey, { p: id })}`);
}

export function Mark() {
  return <svg width="22" height="22" viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="8" fill="var(--accent-fill)" /><path fill="#fff" d="M7 8h18v3H7zM9 12h3v10H9zM14.500 12h3v10h-3zM20 12h3v10h-3zM7 23h18v2.500H7z" /></svg>;
}

/** Ready asks each half minute, while the page is looked at, whether the service is. */
function Ready() {
  const ready = useQuery({
    queryKey: ['readyz'], refetchInterval: 30_000, retry: false, staleTime: 0,
    queryFn: async ({ signal }) => {
      const response = await fetch(`${SERVICE}/readyz`, { signal, cache: 'no-store' });
      const body = (await response.json().catch(() => ({}))) as { detail?: string };
      return { ok: response.ok, detail: typeof body.detail === 'string' ? body.detail : '' };
    },
  });
  if (!ready.data && !ready.error) return null;
  if (ready.data?.ok) return null;
  return <div className={css['banner']} role="alert">{ready.error ? 'The service does not answer.' : `The service is not ready. ${ready.data?.detail ?? ''}`} What is shown may be old.</div>;
}

/** useTitle names the page for the browser: thing · screen · Colonnade. */
export function useTitle(...parts: (string | undefined)[]): void {
  const title = [...parts.filter(Boolean), 'Colonnade'].join(' · ');
  useEffect(() => {
    document.title = title;
  }, [title]);
}
