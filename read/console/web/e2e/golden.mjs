// The aria tree of each screen equals its golden file. Numbers are written as 0: the fixture makes them up.
// UPDATE_GOLDEN=1 writes the files.
import { readFileSync, writeFileSync } from 'node:fs';
import { launch } from './browser.mjs';
import { serve } from './fixture.mjs';

const TRACE = '6d6644c5e1f1a7f2b7a2c0c1d2e3f4a5';
const screens = {
  overview: '/ui/', traces: '/ui/traces#q=type:chat', trace: `/ui/traces/${TRACE}#span=f3cc000000000002`, conversation: `/ui/traces/${TRACE}#view=conversation`, cost: `/ui/traces/${TRACE}#view=cost`,
  sessions: '/ui/sessions', session: '/ui/sessions/session-rs', feedback: '/ui/feedback', evaluations: '/ui/evaluations', run: '/ui/evaluations/r1', compare: '/ui/evaluations/compare#runs=r1,r2&base=r1', new: '/ui/evaluations/new#source=ts&apps=ap',
  project: '/ui/settings/project', preferences: '/ui/settings/preferences', health: '/ui/settings/health',
};
const browser = await launch();
let wrong = 0;
for (const [name, path] of Object.entries(screens)) {
  const { server, url } = await serve();
  const context = await browser.newContext({ viewport: { width: 1440, height: 520 }, timezoneId: 'Europe/Berlin', locale: 'en-GB' });
  const page = await context.newPage();
  await page.clock.install({ time: new Date('2026-11-29T02:00:00Z') });
  await page.goto(url + path);
  await page.waitForLoadState('networkidle');
  await page.locator('h1').first().waitFor({ state: 'attached' });
  // Parts load after the page: the tree is that of two looks that see the same.
  const look = async () => `${(await page.locator('body').ariaSnapshot()).replaceAll(url, 'http://service').replaceAll(/\d+(?:[\u2009\u202f .,:/-]*\d+)*/g, '0').replaceAll(/(second|minute|hour|day)s? ago/g, '$1s ago')}\n`;
  let tree = '';
  for (let before = ''; ; before = tree) {
    await page.clock.runFor(300);
    await page.waitForLoadState('networkidle');
    tree = await look();
    if (tree === before && !tree.includes('Loading')) break;
  }
  const file = new URL(`golden/${name}.aria.yml`, import.meta.url);
  let golden = '';
  try {
    golden = readFileSync(file, 'utf8');
  } catch {
    // There is none yet.
  }
  if (process.env.UPDATE_GOLDEN) writeFileSync(file, tree);
  else if (tree !== golden) {
    wrong++;
    const [is, was] = [tree.split('\n'), golden.split('\n')];
    const at = is.findIndex((line, i) => line !== was[i]);
    console.log(`! ${name}, line ${at + 1}: ${is[at]}\n  golden:        ${was[at]}`);
  }
  await context.close();
  server.close();
}
await browser.close();
console.log(wrong ? `${wrong} aria trees differ` : 'every aria tree equals its golden file');
process.exit(wrong ? 1 : 0);
