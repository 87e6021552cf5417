// What spans say is hostile: names, messages, attributes, links and ids that are attacks are shown as text and do nothing.
import assert from 'node:assert/strict';
import { launch } from './browser.mjs';
import { serve } from './fixture.mjs';

const SCRIPT = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>';
const BIDI = 'safe\u202Eexe.txt\u2066';
const LINK = '[press](javascript:window.hacked=1) [go](https://example.com/x) <a href="javascript:window.hacked=1">raw</a> ![p](https://evil.example/p.png)';
const DEEP = Array.from({ length: 100 }).reduce((inner) => ({ level: inner }), SCRIPT);
const HUGE = 'x'.repeat(10_000_000);

const browser = await launch();
const { server, url } = await serve();
const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
const page = await context.newPage();
page.setDefaultTimeout(90_000); // ten megabytes are parsed on the way
const errors = [];
page.on('pageerror', (e) => errors.push(e.message));
page.on('console', (m) => { if (m.type() === 'error') errors.push(m.text()); });
page.on('dialog', (d) => { errors.push(`a dialog: ${d.message()}`); void d.dismiss(); });
page.on('request', (r) => { if (!r.url().startsWith(url) && !/^(?:data|blob):/.test(r.url())) errors.push(`a request to ${r.url()}`); });

const change = (pattern, edit) => page.route(pattern, async (route) => {
  const reply = await route.fetch();
  const body = await reply.json();
  edit(body);
  await route.fulfill({ status: reply.status(), json: body });
});
await change('**/outline', (o) => { o.dictionaries.name = o.dictionaries.name.map((n, i) => (i % 2 ? BIDI : SCRIPT) + n); o.dictionaries.model = [SCRIPT]; });
await change(/\/spans\/[0-9a-f]{32}\//, ({ span }) => {
  span.status_message = SCRIPT;
  span.session_id = 'a/b?c#d"><b>';
  span.attributes.ag.data = { inputs: { prompt: [{ role: SCRIPT, content: LINK + SCRIPT }, { role: 'user', content: `${BIDI}\n\n<iframe src="javascript:window.hacked=1"></iframe>` }] }, outputs: { completion: [{ role: 'assistant', content: SCRIPT, tool_calls: [{ id: '1', type: 'function', function: { name: SCRIPT, arguments: '{"a":"</script>"}' } }] }] } };
  span.attributes.deep = DEEP;
  span.attributes.huge = page.url().includes('tab=attributes') ? HUGE : '';
  span.attributes['__proto__x'] = { constructor: SCRIPT };
});
await change('**/traces/query', ({ columns }) => {
  columns.span_name &&= columns.span_name.map(() => SCRIPT);
  columns['preview.inputs'] &&= columns['preview.inputs'].map(() => `=HYPERLINK("https://evil.example")${BIDI}`);
});

const TRACE = '6d6644c5e1f1a7f2b7a2c0c1d2e3f4a5';
for (const path of ['/ui/traces', '/ui/', `/ui/traces/${TRACE}#span=f3cc000000000002`, `/ui/traces/${TRACE}#span=f3cc000000000002&tab=attributes`, `/ui/traces/${TRACE}#span=f3cc000000000002&tab=links`, `/ui/traces/${TRACE}#view=conversation`, `/ui/traces/${TRACE}#view=cost`, '/ui/sessions/session-rs']) {
  await page.goto('about:blank');
  await page.goto(url + path);
  await page.locator('main, [role=tabpanel]').getByText(/onerror|HYPERLINK|safe/).first().waitFor({ state: 'attached' });
  assert.equal(await page.evaluate(() => globalThis.hacked), undefined, `${path} ran a script of a span`);
  const links = await page.locator('a[href]').evaluateAll((all) => all.map((a) => [a.protocol, a.host, a.rel]));
  for (const [protocol, host, rel] of links) {
    assert.match(protocol, /^https?:$/, path);
    if (host !== new URL(url).host) assert.match(rel, /noreferrer/, path);
  }
  assert.equal(await page.locator('main img, iframe, object, embed').count(), 0, `${path} shows a picture or a frame of a span`);
  assert.ok((await page.evaluate(() => document.querySelectorAll('*').length)) < 3000, `${path} stays small`);
  console.log(`inert: ${path}`);
}
assert.deepEqual(errors, []);
await browser.close();
server.close();
console.log('hostile: nothing ran');
