// Takes a picture of every screen in both themes and two widths into bin/console-shots,
// and fails where the console or the policy of the page complains.
import { mkdirSync, writeFileSync } from 'node:fs';
import { launch } from './browser.mjs';
import { serve } from './fixture.mjs';

const out = new URL('../../../../bin/console-shots/', import.meta.url).pathname;
mkdirSync(out, { recursive: true });
const only = process.argv[2];
const TRACE = '6d6644c5e1f1a7f2b7a2c0c1d2e3f4a5';

const all = [
  ['traces', '/ui/traces#q=type:chat status:error cost>0.01'],
  ['traces-panel', '/ui/traces', async (page) => { await page.locator('[role=row]').nth(3).click(); await page.waitForSelector('[role=tree]'); }],
  ['trace', `/ui/traces/${TRACE}#span=f3cc000000000007`],
  ['trace-error', `/ui/traces/${TRACE}`],
  ['timeline', `/ui/traces/${TRACE}#view=timeline&path=1`],
  ['conversation', `/ui/traces/${TRACE}#view=conversation`],
  ['cost', `/ui/traces/${TRACE}#view=cost`],
  ['diff', `/ui/traces/${TRACE}#diff=${TRACE.replace('6d', '6e')}`],
  ['overview', '/ui/'], ['sessions', '/ui/sessions'], ['users', '/ui/users'], ['session', '/ui/sessions/session-rs'], ['feedback', '/ui/feedback'],
  ['evaluations', '/ui/evaluations'], ['run', '/ui/evaluations/r1'], ['run-case', '/ui/evaluations/r4#sel=s3-17'], ['run-group', '/ui/evaluations/r3#group=region&show=pending'], ['trend', '/ui/evaluations#trend=1'], ['new', '/ui/evaluations/new#source=ts&apps=ap,aq&judges=1@human'], ['compare-case', '/ui/evaluations/compare#runs=r1,r2&base=r1&sel=case-3'], ['compare', '/ui/evaluations/compare#runs=r1,r2&base=r1'], ['settings', '/ui/settings/project'], ['health', '/ui/settings/health'], ['preferences', '/ui/settings/preferences'],
  ['empty', '/ui/traces#q=name:nothing-matches'],
  ['failing', '/ui/traces', undefined, (key) => (key === 'POST /traces/query' ? [500, { detail: 'ClickHouse: memory limit exceeded' }] : undefined)],
  ['sign-in', '/ui/traces', undefined, (key) => (key === 'GET /auth/session' ? [401, { detail: 'Unauthorized' }] : undefined)],
  ['palette', '/ui/traces', async (page) => { await page.waitForSelector('[role=grid]'); await page.keyboard.press('Control+k'); await page.waitForSelector('[role=dialog]'); }],
  ['keys', '/ui/traces', async (page) => { await page.waitForSelector('[role=grid]'); await page.keyboard.press('?'); await page.waitForSelector('[role=dialog]'); }],
  ['range', '/ui/traces', async (page) => { await page.waitForSelector('[role=grid]'); await page.keyboard.press('t'); await page.waitForSelector('[role=dialog]'); }],
];

const browser = await launch();
let failed = 0;
for (const [name, path, act, fail] of all) {
  if (only && !name.startsWith(only)) continue;
  const { server, url } = await serve(fail ? { fail } : {});
  for (const [theme, width] of (process.argv[3] ? [[process.argv[3], Number(process.argv[4] ?? 1440)]] : [['light', 1440], ['dark', 1440], ['light', 390]])) {
    const context = await browser.newContext({ viewport: { width, height: width < 600 ? 844 : 900 }, colorScheme: theme, timezoneId: 'Europe/Berlin' });
    const page = await context.newPage();
    await page.clock.install({ time: new Date('2026-11-29T02:00:00Z') });
    const complain = (text) => {
      if (fail && /Failed to load resource/.test(text)) return;
      failed++;
      console.log(`! ${name} ${theme} ${width}: ${text}`);
    };
    page.on('console', (m) => { if (m.type() === 'error' || m.type() === 'warning') complain(m.text()); });
    page.on('pageerror', (e) => complain(e.message));
    page.on('request', (r) => { if (!r.url().startsWith(url) && !r.url().startsWith('data:') && !r.url().startsWith('blob:')) complain(`asks ${r.url()}`); });
    await page.goto(url + path);
    await page.waitForLoadState('networkidle');
    try {
      await act?.(page);
    } catch (e) {
      complain(e.message.split('\n')[0]);
    }
    await page.clock.runFor(1500);
    await page.waitForTimeout(250);
    writeFileSync(`${out}${name}-${theme}-${width}.png`, await page.screenshot());
    await context.close();
  }
  server.close();
}
await browser.close();
console.log(failed ? `${failed} complaints` : 'no complaints');
process.exit(failed ? 1 : 0);
