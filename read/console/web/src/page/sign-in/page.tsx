import { useEffect, useState, type FormEvent } from 'react';
import { ApiError } from '../../api/errors';
import { Button } from '../../kit/button/button';
import { Mark, useTitle } from '../../shell/shell';
import { SERVICE } from '../../shell/place';
import { lookAtLink, signIn } from '../../shell/session';
import css from './page.module.css';

/** SignIn takes an API key once; afterwards a cookie stands for it, and the browser keeps no key. */
export function SignIn({ signedIn, done }: { signedIn: boolean; done: () => void }) {
  useTitle('Sign in');
  const [key, setKey] = useState('');
  const [error, setError] = useState('');
  const [busy, setBusy] = useState(false);

  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!key.trim()) return;
    setBusy(true);
    setError('');
    signIn({ key: key.trim() }).then(done, (e: unknown) => {
      setError(words(e));
      setBusy(false);
    });
  };
  const [asked, setAsked] = useState<{ link: string; user: string; project: string }>();
  const open = (link: string) => {
    setBusy(true);
    signIn({ link }).then(done, (e: unknown) => {
      setError(words(e, true));
      setBusy(false);
    });
  };
  // The address is read once: what changes later is no new link.
  // oxlint-disable-next-line react/exhaustive-effect-dependencies
  useEffect(() => {
    const link = linkToken();
    if (!link) return;
    // The token is used once and must not stay in the history.
    history.replaceState(null, '', location.pathname);
    if (!signedIn) {
      open(link);
      return;
    }
    // A link never joins silently: somebody else may have sent it.
    lookAtLink(link).then((found) => setAsked({ link, ...found }), (e: unknown) => setError(words(e, true)));
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, []);

  if (signedIn && asked) {
    return (
      <main className={css['page']}>
        <div className={css['card']}>
          <div className={css['brand']}><Mark /><span>Colonnade</span></div>
          <h1>Take this link?</h1>
          <p>It signs this browser in as <b>{asked.user}</b>, to the project <b>{asked.project}</b> of the service at <code>{SERVICE}</code>.</p>
          {error && <p className={css['wrong']} role="alert">{error}</p>}
          <Button look="accent" isDisabled={busy} onPress={() => open(asked.link)}>Take it</Button>
          <Button onPress={done}>Stay as I am</Button>
        </div>
      </main>
    );
  }
  return (
    <main className={css['page']}>
      <div className={css['card']}>
        <div className={css['brand']}><Mark /><span>Colonnade</span></div>
        <h1>Sign in</h1>
        <form onSubmit={submit}>
          <label htmlFor="key">API key</label>
          <input id="key" name="key" type="password" autoComplete="off" autoFocus spellCheck={false} value={key} onChange={(e) => setKey(e.target.value)} aria-invalid={error ? true : undefined} aria-describedby={error ? 'wrong' : undefined} />
          {error && <p id="wrong" className={css['wrong']} role="alert">{error}</p>}
          <Button look="accent" type="submit" isDisabled={busy || !key.trim()}>{busy ? 'Signing in' : 'Sign in'}</Button>
        </form>
        <p className={css['about']}>The service at <code>{SERVICE}</code>. The key is exchanged for a session and is not kept in this browser.</p>
        <details>
          <summary>How do I get a key?</summary>
          <p>On the machine of the service, this opens the console signed in:</p>
          <pre>colonnade open</pre>
          <p>This makes a key for a project:</p>
          <pre>colonnade key create --name console --role viewer</pre>
        </details>
      </div>
    </main>
  );
}

/** linkToken reads the one-time token of an address that colonnade open printed. */
export function linkToken(): string | undefined {
  return /^#open=([\w.~-]+)$/.exec(location.hash)?.[1];
}

function words(e: unknown, link = false): string {
  if (!(e instanceof ApiError)) return 'Something went wrong in the page itself.';
  if (e.status === 401 && link) return 'This link was used already, or is too old. Make another one with colonnade open.';
  if (e.status === 401) return 'The service does not know this key. It may have been revoked, or belong to another installation.';
  if (e.status === 429) return 'Too many attempts. Wait a minute and try again.';
  return e.message;
}
