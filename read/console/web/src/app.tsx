import { QueryClientProvider } from '@tanstack/react-query';
import { Component, lazy, Suspense, useEffect, useState, type ReactNode } from 'react';
import { Route, Router, Switch } from 'wouter';
import type { ApiError } from './api/errors';
import { Button } from './kit/button/button';
import { Link } from './kit/link/link';
import { Empty, Failure, Skeleton } from './kit/state/state';
import { linkToken, SignIn } from './page/sign-in/page';
import { CONSOLE } from './shell/place';
import { loadSession, queries, useSession } from './shell/session';
import { Shell, useTitle } from './shell/shell';

const Overview = lazy(() => import('./page/overview/page'));
const Traces = lazy(() => import('./page/traces/page'));
const Trace = lazy(() => import('./page/trace/page'));
const Sessions = lazy(() => import('./page/sessions/page'));
const Feedback = lazy(() => import('./page/feedback/page'));
const Evaluations = lazy(() => import('./page/evaluations/page'));
const Settings = lazy(() => import('./page/settings/page'));

export function App() {
  const { session } = useSession();
  // A link stays in the way until it is taken, although its token left the address.
  const [link, setLink] = useState(() => linkToken() !== undefined);
  const [failed, setFailed] = useState<ApiError>();
  const load = () => {
    setFailed(undefined);
    loadSession().catch((e: unknown) => setFailed(e as ApiError));
  };
  useEffect(load, []);
  if (failed) return <main><h1 className="sr">Colonnade</h1><Failure error={failed} retry={load} /></main>;
  if (session === undefined) return null;
  if (session === null || link) return <SignIn signedIn={session !== null} done={() => setLink(false)} />;
  return (
    <QueryClientProvider client={queries}>
      <Router base={CONSOLE}>
        <Shell>
          <Guard>
            <Suspense fallback={<Skeleton rows={14} />}>
              <Switch>
                <Route path="/"><Overview /></Route>
                <Route path="/traces"><Traces /></Route>
                <Route path="/traces/:id">{({ id }) => <Trace key={id} id={id} />}</Route>
                <Route path="/sessions/:id?">{({ id }) => <Sessions key="session" of="session" id={id} />}</Route>
                <Route path="/users/:id?">{({ id }) => <Sessions key="user" of="user" id={id} />}</Route>
                <Route path="/feedback"><Feedback /></Route>
                <Route path="/evaluations/:id?">{({ id }) => <Evaluations key={id ?? ''} id={id} />}</Route>
                <Route path="/settings/:tab?">{({ tab }) => <Settings tab={tab ?? 'project'} />}</Route>
                <Route><Missing /></Route>
              </Switch>
            </Suspense>
          </Guard>
        </Shell>
      </Router>
    </QueryClientProvider>
  );
}

function Missing() {
  useTitle('No such page');
  return <Empty title="There is no page at this address." actions={<Link to="/">Overview</Link>}><h1 className="sr">No such page</h1></Empty>;
}

/** Guard shows a fault of the page instead of nothing at all. */
class Guard extends Component<{ children: ReactNode }, { error?: Error }> {
  override state: { error?: Error } = {};

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override render() {
    if (!this.state.error) return this.props.children;
    return (
      <Empty title="This page has a fault." actions={<Button onPress={() => location.reload()}>Load it again</Button>}>
        <h1 className="sr">Fault</h1>
        <code>{this.state.error.message}</code>
      </Empty>
    );
  }
}
