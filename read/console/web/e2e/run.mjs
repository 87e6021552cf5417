// Runs every test of the console in a real browser, two at a time; all of them run before
// the first failure ends it. shots.mjs takes the pictures of the screens over fixtures, by hand.
import { spawn } from 'node:child_process';

const only = process.env.COLONNADE_TEST_ONLY?.split(',');
const waiting = ['live', 'states', 'golden', 'keys', 'axe', 'hostile'].filter((n) => !only || only.includes(n));
let failed = 0;

async function run(name) {
  const began = Date.now();
  const child = spawn(process.execPath, [new URL(`${name}.mjs`, import.meta.url).pathname], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text));
  const status = await new Promise((done) => child.on('close', done));
  console.log(`${output}${name}: ${status === 0 ? 'holds' : 'FAILS'} after ${((Date.now() - began) / 1000).toFixed(0)} s`);
  if (status !== 0) failed++;
}

await Promise.all([1, 2].map(async () => {
  for (let name = waiting.shift(); name; name = waiting.shift()) await run(name);
}));
process.exit(failed ? 1 : 0);
