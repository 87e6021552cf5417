// Every screen when its routes fail, are busy, hang or find nobody signed in, and for a viewer.
import assert from 'node:assert/strict';
import { launch } from './browser.mjs';
import { serve } from './fixture.mjs';

const TRACE = '6d6644c5e1f1a7f2b7a2c0c1d2e3f4a5';
const screens = {
  '/ui/': 'POST /spans/analytics/query', '/ui/traces': 'POST /traces/query', [`/ui/traces/${TRACE}`]: `GET /traces/${TRACE}/outline`, '/ui/sessions': 'POST /spans/sessions/query', '/ui/users': 'POST /spans/users/query',
  '/ui/sessions/session-rs': 'POST /traces/query', '/ui/feedback': 'POST /annotations/query', '/ui/evaluations': 'POST /evaluations/runs/query', '/ui/evaluations/r1': 'POST /evaluations/grid',
  '/ui/evaluations/compare#runs=r1,r2': 'POST /evaluations/grid', '/ui/evaluations/new': 'POST /simple/testsets/query', '/ui/settings/health': 'GET /rejected-spans/summary',
};
const browser = await launch();

async function open(path, fail) {
  const { server, url } = await serve({ fail });
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  const errors = [];
  page.on('pageerror', (e) => errors.push(e.message));
  await page.goto(url + path);
  return { page, end: async () => { assert.deepEqual(errors, [], path); await context.close(); server.close(); } };
}

for (const [path, route] of Object.entries(screens)) {
  // An error is shown as an error, in the words of the service, and the same press tries again.
  let broken = true;
  const failing = await open(path, (key) => (broken && key === route ? [500, { detail: 'ClickHouse: memory limit exceeded' }] : undefined));
  const alerts = failing.page.getByRole('alert').filter({ hasText: 'memory limit exceeded' });
  await alerts.first().waitFor();
  await failing.page.waitForLoadState('networkidle');
  broken = false;
  for (let left = await alerts.count(); left > 0; left--) await alerts.nth(left - 1).getByRole('button', { name: 'Try again' }).click({ timeout: 1000 }).catch(() => undefined); // one press may mend several blocks
  await alerts.first().waitFor({ state: 'detached' });
  await failing.end();

  console.log(`states of ${path}`);
  // What follows is of the client and of parts that all screens share.
  if (!['/ui/traces', '/ui/evaluations/r1'].includes(path)) continue;
  const busy = await open(path, (key) => (key === route ? [429, { detail: 'Too many requests' }] : undefined));
  await busy.page.getByRole('alert').filter({ hasText: 'too much to do' }).first().waitFor();
  await busy.end();

  // A route that hangs leaves the shape of the page, and the rest of it works.
  const hanging = await open(path, (key) => (key === route ? 'hang' : undefined));
  await hanging.page.getByRole('status', { name: 'Loading' }).first().waitFor();
  await hanging.page.keyboard.press('?');
  await hanging.page.getByRole('dialog', { name: 'Keys of this page' }).waitFor();
  await hanging.end();
}

// Whoever is signed out in the middle of a page comes back to the same address.
let out = false;
const leaving = await open('/ui/traces#q=status:error', (key) => (out && key !== 'POST /auth/session' ? [401, { detail: 'Unauthorized' }] : undefined));
await leaving.page.getByRole('grid').waitFor();
const address = leaving.page.url();
out = true;
await leaving.page.keyboard.press('r');
await leaving.page.getByLabel('API key').waitFor();
out = false;
await leaving.page.getByLabel('API key').fill('right');
await leaving.page.getByRole('button', { name: 'Sign in' }).click();
await leaving.page.getByRole('grid').waitFor();
assert.equal(leaving.page.url(), address);
await leaving.end();

// A viewer is offered nothing that would be refused.
const viewer = await open('/ui/traces#p=01890a5d-ac96-774b-bcce-b302099a8058', () => undefined);
await viewer.page.getByRole('grid').waitFor();
await viewer.page.getByRole('checkbox', { name: 'Select', exact: true }).first().click();
await viewer.page.getByText('1 selected').waitFor();
for (const name of ['Testset', 'Annotate', 'Delete', 'Save']) assert.equal(await viewer.page.getByRole('button', { name, exact: true }).count(), 0, name);
await viewer.end();

await browser.close();
console.log('states: every screen says what is wrong');
