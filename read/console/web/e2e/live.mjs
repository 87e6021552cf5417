// Drives the console of a running service with the demo in it: signing in by link and by
// key, every screen in both themes and two widths, and no complaint of the browser.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { launch } from './browser.mjs';

const url = process.env.COLONNADE_TEST_URL;
const token = process.env.COLONNADE_TEST_LINK.split('#')[1];
const shots = new URL('../../../../bin/console-shots/live/', import.meta.url).pathname;
mkdirSync(shots, { recursive: true });
const axe = readFileSync(new URL('../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');

const browser = await launch();
let wrong = 0;
const complain = (text) => { wrong++; console.log(`! ${text}`); };

/** watch reports what the browser complains of: errors, the policy, other origins, failed routes. */
function watch(page, where) {
  page.on('pageerror', (e) => complain(`${where()}: ${e.message}`));
  page.on('console', (m) => { if (m.type() === 'error' && !m.text().startsWith('Failed to load resource')) complain(`${where()}: ${m.text()}`); });
  page.on('request', (r) => { if (!r.url().startsWith(url) && !/^(?:data|blob):/.test(r.url())) complain(`${where()}: a request to ${r.url()}`); });
  page.on('response', (r) => { if (r.status() >= 400 && !(r.status() === 401 && place === 'link' && r.url().endsWith('/auth/session'))) complain(`${where()}: ${r.request().method()} ${new URL(r.url()).pathname} is ${r.status()}`); });
}

async function open(theme, width) {
  const context = await browser.newContext({ viewport: { width, height: width < 600 ? 844 : 900 }, colorScheme: theme, timezoneId: 'Europe/Berlin', bypassCSP: false });
  return context;
}

// The link signs in once, leaves the address, and its token is of no more use.
const first = await open('light', 1440);
let place = 'link';
const page = await first.newPage();
watch(page, () => place);
process.once('uncaughtException', async (error) => {
  console.log(`! ${place}: ${error.message}\n${error.stack.split('\n').find((line) => line.includes('live.mjs'))}`);
  console.log(await page.getByRole('status').allInnerTexts().catch(() => []));
  await page.screenshot({ path: `${shots}failure.png` }).catch(() => undefined);
  process.exit(1);
});
await page.goto(`${url}/ui/settings/preferences#${token}`);
await page.getByRole('heading', { name: 'Preferences' }).waitFor({ state: 'attached' });
assert.ok(!page.url().includes('open='), 'the token left the address');
const cookies = await first.cookies();
assert.equal(cookies.length, 1);
assert.ok(cookies[0].httpOnly && cookies[0].sameSite === 'Strict');
assert.equal(await page.evaluate(() => document.cookie), '', 'scripts do not see the cookie');

const used = await open('light', 1440);
const again = await used.newPage();
await again.goto(`${url}/ui/settings/preferences#${token}`);
await again.getByRole('alert').getByText('This link was used already').waitFor();
await again.getByLabel('API key').fill('nonsense');
await again.getByRole('button', { name: 'Sign in' }).click();
await again.getByRole('alert').getByText('does not know this key').waitFor();
await again.getByLabel('API key').fill(process.env.COLONNADE_TEST_VIEWER);
await again.getByRole('button', { name: 'Sign in' }).click();
await again.getByRole('heading', { name: 'Preferences' }).waitFor({ state: 'attached' });

// With a session open a link is a question, and is taken by a button.
const made = await page.request.post(`${url}/auth/links`, { headers: { Authorization: `ApiKey ${process.env.COLONNADE_TEST_KEY}` } });
const link = new URL((await made.json()).url);
await again.goto('about:blank');
await again.goto(`${url}/ui/settings/preferences${link.hash}`);
await again.getByRole('heading', { name: 'Take this link?' }).waitFor();
await again.getByRole('button', { name: 'Take it' }).click();
await again.getByRole('heading', { name: 'Preferences' }).waitFor({ state: 'attached' });
assert.ok((await (await again.request.get(`${url}/auth/session`)).json()).projects[0].permissions.includes('edit_traces'), 'the link is of the owner');
await used.close();

// The failing run of the demo, and the evaluation that the test made.
const api = async (path, body) => {
  const reply = await page.request.post(url + path, { headers: { Authorization: `ApiKey ${process.env.COLONNADE_TEST_KEY}` }, data: body });
  assert.equal(reply.status(), 200, `${path}: ${await reply.text()}`);
  return reply.json();
};
const invocation = { field: 'trace_type', operator: 'is', value: 'invocation' };
const failing = { field: 'status_code', operator: 'is', value: 'STATUS_CODE_ERROR' };
const found = await api('/traces/query', { filtering: { conditions: [invocation, failing, { field: 'session_id', operator: 'exists' }] }, windowing: { limit: 1 }, select: ['trace_id', 'session_id', 'user_id'] });
const { trace_id: [trace], session_id: [session], user_id: [user] } = found.columns;
const runs = (await api('/evaluations/runs/query', { windowing: { order: 'ascending' } })).runs;

// What the latest failing run says of its failure.
const WHY = /no map of Nepal|did not answer within 30 s/;

// Find, explain and annotate the failing run: at most 12 clicks.
place = 'by clicks';
let clicks = 0;
const click = async (locator) => { clicks++; await locator.click(); };
await page.goto(`${url}/ui/`);
await click(page.getByRole('main').getByRole('link', { name: 'Errors' }));
await click(page.getByRole('grid', { name: 'traces' }).getByRole('row').nth(1));
const panel = page.getByRole('complementary', { name: 'Trace' });
await panel.getByText(WHY).first().waitFor();
await click(panel.getByRole('tab', { name: /Feedback/ }));
await click(panel.getByRole('button', { name: 'Annotate' }));
await click(panel.getByRole('button', { name: '✗ no' }));
await click(panel.getByRole('button', { name: /Send/ }));
await panel.getByRole('tab', { name: 'Feedback 1' }).waitFor();
console.log(`the failing run is found, explained and annotated with ${clicks} clicks`);
assert.ok(clicks <= 12, `${clicks} clicks`);

// The same with at most 25 keys.
place = 'by keys';
let keys = 0;
const press = async (...all) => { for (const key of all) { keys++; await page.keyboard.press(key); } };
await page.goto(`${url}/ui/settings/preferences`);
await page.getByRole('heading', { name: 'Preferences' }).waitFor();
await press('g', 't');
await page.getByRole('grid', { name: 'traces' }).waitFor();
await press('/', ...'status:err');
await page.getByRole('option', { name: 'error' }).waitFor();
await press('Tab', 'Enter', 'Escape');
await page.getByRole('button', { name: 'Remove status:error' }).waitFor();
await page.waitForFunction(() => document.querySelectorAll('[role=grid] [aria-label=error]').length > 2);
await press(' ');
await panel.getByText(WHY).first().waitFor();
await press('a');
await panel.getByRole('form', { name: 'Annotation' }).waitFor();
await press('2', 'Control+Enter');
await panel.getByRole('tab', { name: 'Feedback 2' }).waitFor();
console.log(`and with ${keys} keys`);
assert.ok(keys <= 25, `${keys} keys`);

// The number of traces and of those with errors is the same on the overview, in the list and by API.
place = 'numbers';
await page.goto('about:blank');
await page.goto(`${url}/ui/traces#t=30d`);
await page.getByRole('status').filter({ hasText: /^\d.* traces/ }).first().waitFor();
const listed = Number((await page.getByRole('status').filter({ hasText: /^\d.* traces/ }).first().textContent()).replaceAll(/\D/g, ''));
await page.goto(`${url}/ui/#t=30d`);
await page.getByRole('definition').first().waitFor();
const shown = (await page.getByRole('definition').allTextContents()).map((t) => Number(t.replace(/[▲▼].*/, '').replaceAll(/[^\d.]/g, '')));
let byApi = 0;
let badByApi = 0;
for (let next; ;) {
  const list = await api('/traces/query', { filtering: { conditions: [invocation] }, windowing: { limit: 500, ...next }, select: ['trace_id', 'total.errors'] });
  byApi += list.count;
  badByApi += list.columns['total.errors'].filter((n) => n > 0).length;
  next = list.windowing?.next ? list.windowing : undefined;
  if (!next) break;
}
assert.deepEqual([listed, shown[0]], [byApi, byApi], 'list, overview and API count the same traces');
assert.ok(Math.abs(shown[1] - (badByApi / byApi) * 100) < 0.06, `errors: ${shown[1]} % on the overview, ${badByApi} of ${byApi} by API`);

const paths = {
  overview: '/ui/', traces: '/ui/traces', spans: '/ui/traces#focus=spans&q=type:chat', annotations: '/ui/traces#focus=annotations',
  trace: `/ui/traces/${trace}`, timeline: `/ui/traces/${trace}#view=timeline&path=1`, conversation: `/ui/traces/${trace}#view=conversation`, cost: `/ui/traces/${trace}#view=cost`,
  sessions: '/ui/sessions', session: `/ui/sessions/${session}`, users: '/ui/users', user: `/ui/users/${user}`, feedback: '/ui/feedback',
  evaluations: '/ui/evaluations#trend=1', run: `/ui/evaluations/${runs[0].id}`, compare: `/ui/evaluations/compare#runs=${runs[0].id},${runs[1].id}`, new: '/ui/evaluations/new',
  project: '/ui/settings/project', keys: '/ui/settings/keys', secrets: '/ui/settings/secrets', browsers: '/ui/settings/sessions', preferences: '/ui/settings/preferences', health: '/ui/settings/health',
};
for (const [theme, width] of [['light', 1440], ['dark', 390]]) {
  const context = await open(theme, width);
  await context.addCookies(await first.cookies());
  const page = await context.newPage();
  watch(page, () => `${place} ${theme} ${width}`);
  for (const [name, path] of Object.entries(paths)) {
    place = name;
    if (width < 600 && ['spans', 'annotations', 'cost', 'user', 'users', 'secrets', 'browsers', 'project'].includes(name)) continue; // as their neighbours
    await page.goto('about:blank');
    await page.goto(url + path);
    await page.waitForLoadState('networkidle');
    await page.locator('h1').first().waitFor({ state: 'attached' });
    await page.screenshot({ path: `${shots}${name}-${theme}-${width}.png` });
    for (const text of await page.getByRole('alert').allInnerTexts()) complain(`${name} ${theme} ${width} shows: ${text.replaceAll('\n', ' ')}`);
    // The policy would refuse the script of axe as well: it comes as an isolated evaluation.
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => globalThis.axe.run(document));
    for (const v of violations) complain(`${name} ${theme} ${width}: ${v.id}: ${v.nodes[0].html.slice(0, 140)}`);
  }
  await context.close();
}

// Two runs are compared case by case, and what failed is run again.
place = 'evaluation';
await page.goto(`${url}/ui/evaluations/compare#runs=${runs[0].id},${runs[1].id}`);
await page.getByText('12 cases in common').waitFor();
await page.getByRole('row').filter({ hasText: 'exact' }).getByText(/^\+0\.36/).waitFor();
await page.goto(`${url}/ui/evaluations/${runs[0].id}#show=failed`);
await page.getByText('1 of 12 cases').waitFor();
await page.getByRole('gridcell', { name: 'failed' }).click();
await page.getByRole('complementary', { name: 'Case' }).getByText(/no map of Nepal/).first().waitFor();
await page.getByRole('button', { name: 'Again what failed' }).click();
await page.getByText('1 cases run again.').waitFor();

// Signing out leads to the field of the key, in every tab.
place = 'sign out';
const tab = await first.newPage();
await tab.goto(`${url}/ui/settings/preferences`);
await tab.getByRole('heading', { name: 'Preferences' }).waitFor();
await page.getByRole('button', { name: 'You' }).click();
await page.getByRole('menuitem', { name: /Sign out/ }).click();
await page.getByLabel('API key').waitFor();
await tab.getByLabel('API key').waitFor();
assert.equal((await page.request.get(`${url}/auth/session`)).status(), 401);

await browser.close();
console.log(wrong ? `live: ${wrong} complaints` : 'live: every screen holds');
process.exit(wrong ? 1 : 0);
