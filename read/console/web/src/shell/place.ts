// Where the page stands. The service may be below any prefix of a proxy; the base
// of the page leads to /ui/, and the service is one step above.

const base = new URL('.', document.baseURI);

/** Path of the console without its last slash: /ui, or /prefix/ui. */
export const CONSOLE = base.pathname.replace(/\/$/, '');

/** Address of the service, without a slash at its end. */
export const SERVICE = new URL('..', base).href.replace(/\/$/, '');

/** Keys of an address that stay when the page changes: range, zone, project. */
const SHARED = ['t', 'z', 'p'];

/** address gives the whole address of a page. Whole, because # alone would follow the base. */
export function address(path: string, fragment = ''): string {
  const kept = new URLSearchParams();
  const given = new Set(fragment.split('&').map((part) => part.split('=')[0]));
  for (const part of location.hash.slice(1).split('&')) {
    const key = part.split('=')[0]!;
    if (SHARED.includes(key) && !given.has(key)) kept.append(key, part.slice(key.length + 1));
  }
  const all = [...[...kept].map(([key, value]) => `${key}=${value}`), fragment].filter(Boolean).join('&');
  return `${CONSOLE}${path}${all && `#${all}`}`;
}

/** go opens an address of the console without loading the page again. */
export function go(to: string, replace = false): void {
  if (replace) history.replaceState(history.state, '', to);
  else history.pushState(null, '', to);
  window.dispatchEvent(new Event('colonnade:address'));
}
