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

// The screens whose routes the service has; fixture.mjs stands in for the routes of the others.
const paths = {
  evaluations: '/ui/evaluations', project: '/ui/settings/project', keys: '/ui/settings/keys', secrets: '/ui/settings/secrets',
  browsers: '/ui/settings/sessions', preferences: '/ui/settings/preferences',
};
for (const [theme, width] of [['light', 1440], ['dark', 1440], ['light', 390], ['dark', 390]]) {
  const context = await open(theme, width);
  await context.addCookies(await first.cookies());
  const page = await context.newPage();
  watch(page, () => `${place} ${theme} ${width}`);
  for (const [name, path] of Object.entries(paths)) {
    place = name;
    await page.goto('about:blank');
    await page.goto(url + path);
    await page.waitForLoadState('networkidle');
    await page.locator('h1').first().waitFor({ state: 'attached' });
    await page.screenshot({ path: `${shots}${name}-${theme}-${width}.png` });
    // The policy would refuse the script of axe as well: it comes as an isolated evaluation.
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => globalThis.axe.run(document));
    for (const v of violations) complain(`${name} ${theme} ${width}: ${v.id}: ${v.nodes[0].html.slice(0, 140)}`);
  }
  await context.close();
}

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
