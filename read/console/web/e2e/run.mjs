// Runs every test of the console in a real browser, one after the other; all of them run
// before the first failure ends it. shots.mjs takes the pictures of the screens over fixtures, by hand.
import { spawnSync } from 'node:child_process';

let failed = 0;
const only = process.env.COLONNADE_TEST_ONLY?.split(',');
for (const name of ['live', 'keys', 'axe'].filter((n) => !only || only.includes(n))) {
  const began = Date.now();
  const { status } = spawnSync(process.execPath, [new URL(`${name}.mjs`, import.meta.url).pathname], { stdio: 'inherit' });
  console.log(`${name}: ${status === 0 ? 'holds' : 'FAILS'} after ${((Date.now() - began) / 1000).toFixed(0)} s`);
  if (status !== 0) failed++;
}
process.exit(failed ? 1 : 0);
