import { Plus, RefreshCw } from 'lucide-react';
import { useState, type ReactNode } from 'react';
import type { components } from '../../api/schema';
import type { RejectedSummary } from '../../api/types';
import { Button, Choice } from '../../kit/button/button';
import { Confirm, Dialog } from '../../kit/dialog/dialog';
import { Link } from '../../kit/link/link';
import { Empty, Failure, Skeleton } from '../../kit/state/state';
import { copy, toast } from '../../kit/toast/toast';
import { Ago, Time } from '../../kit/value/value';
import { ZonePicker } from '../../kit/range/range';
import { SERVICE } from '../../shell/place';
import { setPrefs, usePrefs } from '../../shell/prefs';
import { client, may, projectId, queries, useApi, useSession } from '../../shell/session';
import { useTitle } from '../../shell/shell';
import { showCount } from '../../url/number';
import css from './page.module.css';

type Key = components['schemas']['Key'];
type Secret = components['schemas']['SecretRecord'];

const TABS = [['project', 'Project'], ['keys', 'Keys'], ['secrets', 'Secrets'], ['sessions', 'Sessions'], ['preferences', 'Preferences'], ['health', 'Health']] as const;

export default function Settings({ tab }: { tab: string }) {
  const known = TABS.find(([id]) => id === tab) ?? TABS[0];
  useTitle(known[1], 'Settings');
  return (
    <div className={css['page']}>
      <nav className={css['nav']} aria-label="Settings">{TABS.map(([id, text]) => <Link key={id} to={`/settings/${id}`} aria-current={id === known[0] ? 'page' : undefined}>{text}</Link>)}</nav>
      <div className={css['body']}>
        <h1>{known[1]}</h1>
        {known[0] === 'project' ? <ProjectTab /> : known[0] === 'keys' ? <Keys /> : known[0] === 'secrets' ? <Secrets /> : known[0] === 'sessions' ? <SessionsTab /> : known[0] === 'preferences' ? <Preferences /> : <Health />}
      </div>
    </div>
  );
}

const failed = (e: unknown) => toast(e instanceof Error ? e.message : String(e), { bad: true });

function Facts({ rows }: { rows: readonly (readonly [string, ReactNode])[] }) {
  return <dl className={css['facts']}>{rows.map(([k, v]) => <div key={k}><dt>{k}</dt><dd>{v}</dd></div>)}</dl>;
}

function Snippet({ title, text }: { title: string; text: string }) {
  return <section className={css['snippet']}><header><h2>{title}</h2><Button small look="quiet" onPress={() => void copy(text, title)}>Copy</Button></header><pre tabIndex={0} role="group" aria-label={title}>{text}</pre></section>;
}

function ProjectTab() {
  const { session } = useSession();
  const project = session?.projects.find((p) => p.project_id === projectId());
  const host = new URL(SERVICE).hostname;
  return (
    <>
      <Facts rows={[['Project', project?.project_name], ['Workspace', project?.workspace_name], ['Organization', project?.organization_name], ['Your role', project?.role], ['Project id', <code key="id">{project?.project_id}</code>], ['Service', <code key="s">{SERVICE}</code>]]} />
      <Snippet title="Environment of any OpenTelemetry sender" text={`export OTEL_EXPORTER_OTLP_ENDPOINT=${SERVICE}/otlp\nexport OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf\nexport OTEL_EXPORTER_OTLP_HEADERS="Authorization=ApiKey $COLONNADE_API_KEY"`} />
      <Snippet title="Python" text={`from opentelemetry import trace\nfrom opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter\nfrom opentelemetry.sdk.trace import TracerProvider\nfrom opentelemetry.sdk.trace.export import BatchSpanProcessor\n\nprovider = TracerProvider()\nprovider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(\n    endpoint="${SERVICE}/otlp/v1/traces",\n    headers={"Authorization": f"ApiKey {key}"})))\ntrace.set_tracer_provider(provider)`} />
      <Snippet title="Collector" text={`exporters:\n  otlphttp/colonnade:\n    endpoint: ${SERVICE}/otlp\n    headers:\n      Authorization: ApiKey \${env:COLONNADE_API_KEY}\n# over gRPC: ${host} and the port of the gRPC receiver`} />
    </>
  );
}

function Keys() {
  const found = useApi<Key[] | { keys: Key[] }>('GET', '/keys/');
  const [making, setMaking] = useState(false);
  const [revoking, setRevoking] = useState<Key>();
  const keys = Array.isArray(found.data) ? found.data : (found.data?.keys ?? []);
  const again = () => queries.invalidateQueries({ predicate: (q) => q.queryKey[2] === '/keys/' });
  if (found.error) return <Failure error={found.error} retry={() => void found.refetch()} />;
  if (found.isPending) return <Skeleton rows={4} />;
  return (
    <>
      {may('edit_api_keys') && <Button icon={Plus} onPress={() => setMaking(true)}>New key</Button>}
      {keys.length === 0 ? <Empty title="This project has no keys." /> : (
        <table className={css['table']}>
          <thead><tr><th>Name</th><th>Prefix</th><th>Role</th><th>Created</th><th>Expires</th><th><span className="sr">Actions</span></th></tr></thead>
          <tbody>{keys.map((k) => (
            <tr key={k.prefix} data-off={k.revoked_at ? true : undefined}>
              <td>{k.name ?? '–'}</td><td><code>{k.prefix}</code></td><td>{k.role ?? '–'}</td><td><Ago at={k.created_at} /></td><td>{k.revoked_at ? 'revoked' : k.expires_at ? <Time at={k.expires_at} /> : 'never'}</td>
              <td>{!k.revoked_at && may('edit_api_keys') && <Button small look="quiet" onPress={() => setRevoking(k)}>Revoke</Button>}</td>
            </tr>
          ))}</tbody>
        </table>
      )}
      {making && <NewKey close={() => { setMaking(false); void again(); }} />}
      {revoking && <Confirm title={`Revoke ${revoking.name ?? revoking.prefix}?`} verb="Revoke" onClose={() => setRevoking(undefined)} onConfirm={() => {
        client.call('DELETE', `/keys/${revoking.prefix}`).then(() => { toast('The key is revoked.'); return again(); }, failed);
        setRevoking(undefined);
      }}><p>Senders and browsers that are signed in with this key end within a second. A revoked key does not come back.</p></Confirm>}
    </>
  );
}

const ROLES = ['viewer', 'annotator', 'editor', 'developer', 'admin', 'owner'];

function NewKey({ close }: { close: () => void }) {
  const [name, setName] = useState('');
  const [role, setRole] = useState('viewer');
  const [made, setMade] = useState<string>();
  const make = () => {
    client.call<{ key?: string } | string>('POST', '/keys/', { body: { name, role } }).then((reply) => setMade(typeof reply === 'string' ? reply : reply.key), failed);
  };
  if (made !== undefined) {
    return (
      <Dialog title="The new key" alert onClose={close} actions={<Button look="accent" onPress={close}>I have kept it</Button>}>
        <p>It is shown this once.</p>
        <pre className={css['key']}>{made}</pre>
        <div><Button onPress={() => void copy(made, 'Key')}>Copy the key</Button> <Button onPress={() => void copy(`COLONNADE_API_KEY=${made}`, 'Line')}>Copy as a line of .env</Button></div>
      </Dialog>
    );
  }
  return (
    <Dialog title="New key" onClose={close} actions={<Button look="accent" isDisabled={!name.trim()} onPress={make}>Make it</Button>}>
      <label className={css['field']}>Name<input autoFocus value={name} onChange={(e) => setName(e.target.value)} /></label>
      <label className={css['field']}>Role<select value={role} onChange={(e) => setRole(e.target.value)}>{ROLES.map((r) => <option key={r}>{r}</option>)}</select></label>
    </Dialog>
  );
}

function Secrets() {
  const found = useApi<{ secrets?: Secret[] }>('GET', '/secrets/');
  const [editing, setEditing] = useState<Partial<Secret>>();
  const [removing, setRemoving] = useState<string>();
  const again = () => queries.invalidateQueries({ predicate: (q) => q.queryKey[2] === '/secrets/' });
  if (found.error) return <Failure error={found.error} retry={() => void found.refetch()} />;
  if (found.isPending) return <Skeleton rows={4} />;
  const all = found.data.secrets ?? [];
  return (
    <>
      <p>Keys of model providers by name, and values of headers of webhooks with the hosts that may receive them. A value can be written and never read.</p>
      {may('edit_secrets') && <Button icon={Plus} onPress={() => setEditing({})}>New secret</Button>}
      {all.length === 0 ? <Empty title="This project has no secrets." /> : (
        <table className={css['table']}>
          <thead><tr><th>Name</th><th>Description</th><th>Hosts</th><th>Changed</th><th><span className="sr">Actions</span></th></tr></thead>
          <tbody>{all.map((s) => <tr key={s.name}><td><code>{s.name}</code></td><td>{s.description ?? '–'}</td><td>{s.hosts.length > 0 ? s.hosts.join(', ') : '–'}</td><td><Ago at={s.updated_at ?? s.created_at} /></td><td>{may('edit_secrets') && <><Button small look="quiet" onPress={() => setEditing(s)}>Replace</Button><Button small look="quiet" onPress={() => setRemoving(s.name)}>Delete</Button></>}</td></tr>)}</tbody>
        </table>
      )}
      {editing !== undefined && <SecretForm given={editing} close={() => { setEditing(undefined); void again(); }} />}
      {removing !== undefined && <Confirm title={`Delete ${removing}?`} verb="Delete" onClose={() => setRemoving(undefined)} onConfirm={() => {
        client.call('DELETE', `/secrets/${encodeURIComponent(removing)}`).then(() => { toast('The secret is deleted.'); return again(); }, failed);
        setRemoving(undefined);
      }}><p>Applications and evaluators that use it fail from now on. It does not come back.</p></Confirm>}
    </>
  );
}

function SecretForm({ given, close }: { given: Partial<Secret>; close: () => void }) {
  const [name, setName] = useState(given.name ?? '');
  const [value, setValue] = useState('');
  const [hosts, setHosts] = useState((given.hosts ?? []).join(' '));
  return (
    <Dialog title={given.name ? `Replace ${given.name}` : 'New secret'} onClose={close} actions={<Button look="accent" isDisabled={!name || !value} onPress={() => {
      client.call('PUT', `/secrets/${encodeURIComponent(name)}`, { body: { secret: { value, description: given.description ?? '', hosts: hosts.split(/[\s,]+/).filter(Boolean) } } }).then(() => { toast('Kept.'); close(); }, failed);
    }}>Keep it</Button>}>
      {!given.name && <label className={css['field']}>Name<input autoFocus value={name} placeholder="OPENAI_API_KEY" onChange={(e) => setName(e.target.value)} /></label>}
      <label className={css['field']}>Value<input type="password" autoComplete="off" value={value} onChange={(e) => setValue(e.target.value)} /></label>
      <label className={css['field']}>Hosts that may receive it in a header<input value={hosts} placeholder="api.example.com hooks.internal:8080" onChange={(e) => setHosts(e.target.value)} /></label>
    </Dialog>
  );
}

interface Browser { id: string; created_at?: string; seen_at?: string; agent?: string; address?: string; current?: boolean }

function SessionsTab() {
  const found = useApi<{ sessions?: Browser[] }>('GET', '/auth/sessions');
  if (found.error) return <Failure error={found.error} retry={() => void found.refetch()} />;
  if (found.isPending) return <Skeleton rows={3} />;
  return (
    <table className={css['table']}>
      <thead><tr><th>Browser</th><th>Address</th><th>Since</th><th>Last seen</th><th><span className="sr">Actions</span></th></tr></thead>
      <tbody>{(found.data.sessions ?? []).map((s) => (
        <tr key={s.id}><td>{s.agent ?? '–'}{s.current && ' (this one)'}</td><td>{s.address ?? '–'}</td><td><Ago at={s.created_at} /></td><td><Ago at={s.seen_at} /></td>
          <td>{!s.current && <Button small look="quiet" onPress={() => { client.call('DELETE', `/auth/sessions/${s.id}`).then(() => queries.invalidateQueries({ predicate: (q) => q.queryKey[2] === '/auth/sessions' }), failed); }}>End</Button>}</td></tr>
      ))}</tbody>
    </table>
  );
}

function Preferences() {
  const p = usePrefs();
  return (
    <>
      <p>Kept in this browser.</p>
      <Facts rows={[
        ['Theme', <Choice key="t" label="Theme" value={p.theme} onChange={(theme) => setPrefs({ theme })} options={[['system', 'As the system'], ['light', 'Light'], ['dark', 'Dark']]} />],
        ['Rows', <Choice key="d" label="Rows" value={p.density} onChange={(density) => setPrefs({ density })} options={[['dense', 'Dense'], ['normal', 'Normal'], ['wide', 'Wide']]} />],
        ['Zone', <ZonePicker key="z" />],
        ['Keys of one letter', <label key="l"><input type="checkbox" checked={p.letters} onChange={(e) => setPrefs({ letters: e.target.checked })} /> j, k, x, g t and the like</label>],
        ['Texts of messages', <Choice key="m" label="Texts of messages" value={p.markdown ? 'markdown' : 'verbatim'} onChange={(v) => setPrefs({ markdown: v === 'markdown' })} options={[['markdown', 'Markdown'], ['verbatim', 'Verbatim']]} />],
      ]} />
    </>
  );
}

function Checks({ status }: { status: Status }) {
  return (
    <section>
      <h2>Checks</h2>
      <table className={css['table']}>
        <thead><tr><th>Check</th><th>State</th><th>Lag</th><th>Error</th></tr></thead>
        <tbody>{Object.entries(status.checks).toSorted(([a], [b]) => a.localeCompare(b)).map(([name, c]) => <tr key={name}><td>{name}</td><td>{c.status}</td><td>{c.lag_seconds === undefined || c.lag_seconds === null ? '–' : `${c.lag_seconds.toFixed(1)} s`}</td><td>{c.error ?? '–'}</td></tr>)}</tbody>
      </table>
      {(status.problems ?? []).map((p) => <p key={p} className={css['bad']}>{p}</p>)}
    </section>
  );
}

interface Rejected { rejected_at: string; stage: string; reason: string; source?: string; name?: string; trace_id?: string }

type Status = components['schemas']['Readiness'];

function Health() {
  const { session } = useSession();
  const ready = useApi<Status>('GET', '/status');
  const summary = useApi<RejectedSummary>('GET', '/rejected-spans/summary');
  const rows = useApi<{ rejected_spans?: Rejected[] }>('GET', '/rejected-spans', { query: { limit: 100 } });
  return (
    <>
      <Facts rows={[['Version', session?.version ?? '–'], ['Ready', ready.isPending ? 'asking' : ready.error ? <span key="r" className={css['bad']}>unknown: {ready.error.message}</span> : ready.data.status === 'ok' ? <span key="r" className={css['good']}>yes</span> : <span key="r" className={css['bad']}>no</span>]]} />
      {ready.data && <Checks status={ready.data} />}
      <section>
        <header className={css['line']}><h2>Rejected spans</h2><Button small look="quiet" icon={RefreshCw} onPress={() => { void summary.refetch(); void rows.refetch(); void ready.refetch(); }}>Ask again</Button></header>
        {summary.error ? <Failure compact error={summary.error} retry={() => void summary.refetch()} /> : summary.isPending ? <Skeleton rows={3} /> : summary.data.reasons.length === 0 ? <Empty title="Every span was stored." /> : (
          <table className={css['table']}>
            <thead><tr><th>Reason</th><th>Where</th><th>Spans</th></tr></thead>
            <tbody>{summary.data.reasons.map((r) => <tr key={r.stage + r.reason}><td>{r.reason}</td><td>{r.stage}</td><td>{showCount(r.count)}</td></tr>)}</tbody>
          </table>
        )}
      </section>
      {rows.data?.rejected_spans?.length ? (
        <section>
          <h2>Latest</h2>
          <table className={css['table']}>
            <thead><tr><th>When</th><th>Where</th><th>Reason</th><th>Span</th></tr></thead>
            <tbody>{rows.data.rejected_spans.map((r, i) => <tr key={i}><td><Time at={r.rejected_at} /></td><td>{r.stage}</td><td>{r.reason}</td><td>{r.name ?? '–'}</td></tr>)}</tbody>
          </table>
        </section>
      ) : rows.error && !summary.error ? <Failure compact error={rows.error} retry={() => void rows.refetch()} /> : null}
    </>
  );
}
