// Walks through the console by keyboard alone, and looks at what it weighs: reload
// gives the same, back restores, large traces stay small in the page.
import assert from 'node:assert/strict';
import { launch } from './browser.mjs';
import { serve } from './fixture.mjs';

const browser = await launch();
const { server, url } = await serve();
const page = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
const errors = [];
page.on('pageerror', (e) => errors.push(e.message));
page.on('console', (m) => { if (m.type() === 'error') errors.push(m.text()); });
const nodes = () => page.evaluate(() => document.querySelectorAll('*').length);
const press = async (...keys) => { for (const key of keys) await page.keyboard.press(key); };

// Find, open, look, close.
await page.goto(`${url}/ui/`);
await page.getByRole('heading', { name: 'Overview' }).waitFor({ state: 'attached' });
await press('g', 't');
await page.waitForURL(/\/ui\/traces/);
await page.getByRole('grid').waitFor();
await press('/');
await page.keyboard.type('status:err');
await page.getByRole('option', { name: 'error' }).waitFor();
await press('Tab');
await press('Enter');
await page.waitForURL(/q=status:error/);
await page.getByRole('button', { name: 'Remove status:error' }).waitFor();
await page.getByRole('grid').focus();
await press('j', 'j', 'Enter');
await page.waitForURL(/sel=/);
await page.getByRole('complementary', { name: 'Trace' }).getByRole('tree', { name: 'Spans' }).waitFor();
const address = page.url();
await page.reload();
await page.getByRole('tree', { name: 'Spans' }).waitFor();
assert.equal(page.url(), address, 'reload gives the same');
assert.equal(await page.getByRole('combobox', { name: 'Filter' }).inputValue(), 'status:error');
await press('Escape');
await page.getByRole('tree', { name: 'Spans' }).waitFor({ state: 'detached' });
await page.goBack();
await page.getByRole('tree', { name: 'Spans' }).waitFor();
await page.goForward();
await page.getByRole('tree', { name: 'Spans' }).waitFor({ state: 'detached' });

// Select with x, and the number of what is selected.
await page.getByRole('grid').focus();
await press('Home', 'x', 'j', 'x');
await page.getByText('2 selected').waitFor();
console.log(`a list: ${await nodes()} nodes`);
assert.ok((await nodes()) <= 900, `the list has ${await nodes()} nodes`);

// A filter that cannot be read says where, and asks nothing.
await press('/');
await page.keyboard.type('nofield:x');
await press('Enter', 'Escape');
await page.getByText('There is no field nofield').waitFor();

// A trace: tree by keys, feedback, and what was written is there.
await page.goto(`${url}/ui/traces/6d6644c5e1f1a7f2b7a2c0c1d2e3f4a5#span=f3cc000000000000`);
const tree = page.getByRole('tree', { name: 'Spans' });
await tree.focus();
await press('ArrowLeft');
assert.equal(await page.getByRole('treeitem').filter({ hasText: 'agent-loop' }).count(), 0, 'closed by the left arrow');
await press('ArrowRight', 'ArrowDown');
await page.waitForURL(/span=f3cc000000000001/);
await press('a');
await page.getByRole('button', { name: '✗ no' }).click();
await page.getByRole('textbox', { name: 'comment' }).fill('It never asked for dates.');
await press('Control+Enter');
await page.getByText('Annotated.').waitFor();
await page.getByRole('tab', { name: 'Feedback 1' }).waitFor();

// Large traces.
for (const id of ['5000', '50000']) {
  const start = Date.now();
  await page.goto(`${url}/ui/traces/${id.padEnd(32, '0')}`);
  await page.getByRole('treeitem').first().waitFor();
  const took = Date.now() - start;
  console.log(`a trace of ${id} spans: ${took} ms with loading the page, ${await nodes()} nodes`);
  assert.ok((await nodes()) <= 600, `${await nodes()} nodes`);
}

// The palette knows an id.
await press('Control+k');
await page.getByRole('combobox', { name: /Go to a page/ }).waitFor();
await page.keyboard.type('6d6644c5e1f1a7f2b7a2c0c1d2e3f4a5');
await press('Enter');
await page.waitForURL(/\/traces\/6d6644c5/);

assert.deepEqual(errors, []);
await browser.close();
server.close();
console.log('by keyboard: all as it should be');
