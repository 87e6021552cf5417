// Runs axe with all its rules over the screens, in both themes and two widths.
import { readFileSync } from 'node:fs';
import { launch } from './browser.mjs';
import { serve } from './fixture.mjs';

const axe = readFileSync(new URL('../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');
const TRACE = '6d6644c5e1f1a7f2b7a2c0c1d2e3f4a5';
// live.mjs looks at every screen of the demo; here are those that need more than the demo has.
const paths = [`/ui/traces/${TRACE}`, '/ui/evaluations/r4#sel=s3-17', '/ui/evaluations/r3#group=region', '/ui/evaluations/compare#runs=r1,r2&base=r1&sel=case-3', '/ui/evaluations/new#source=ts&apps=ap,aq&judges=1@human', `/ui/traces/${TRACE}#diff=${TRACE.replace('6d', '6e')}`];
const browser = await launch();
const { server, url } = await serve();
let found = 0;
for (const [theme, width] of [['light', 1440], ['dark', 390]]) {
  for (const path of paths) {
    const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: theme, bypassCSP: true });
    const page = await context.newPage();
    await page.goto(url + path);
    await page.waitForLoadState('networkidle');
    await page.locator('h1').first().waitFor({ state: 'attached' });
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => globalThis.axe.run(document));
    for (const v of violations) {
      found += v.nodes.length;
      console.log(`! ${path} ${theme} ${width}: ${v.id}, ${v.nodes.length}: ${v.nodes[0].html.slice(0, 160)} | ${v.nodes[0].failureSummary.split('\n')[1]?.trim().slice(0, 160)}`);
    }
    await context.close();
  }
}
await browser.close();
server.close();
console.log(found ? `${found} findings` : 'axe finds nothing');
process.exit(found ? 1 : 0);
