// Compares the built console with budget.json and fails where something weighs more.
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

const dist = new URL('../../dist/', import.meta.url).pathname;
const budget = JSON.parse(readFileSync(new URL('../budget.json', import.meta.url), 'utf8'));
const manifest = JSON.parse(readFileSync(join(dist, '.vite/manifest.json'), 'utf8'));

const weight = (file) => {
  try {
    return statSync(join(dist, `${file}.gz`)).size;
  } catch {
    return statSync(join(dist, file)).size;
  }
};

// What is loaded with a chunk: itself and everything that it imports statically.
function closure(key, seen = new Set()) {
  if (seen.has(key)) return seen;
  seen.add(key);
  for (const next of manifest[key].imports ?? []) closure(next, seen);
  return seen;
}
const js = (keys) => [...keys].reduce((sum, key) => sum + weight(manifest[key].file), 0);
const css = (keys) => [...new Set([...keys].flatMap((key) => manifest[key].css ?? []))].reduce((sum, file) => sum + weight(file), 0);

let failed = false;
function check(what, is, most) {
  const ok = is <= most;
  failed ||= !ok;
  console.log(`${ok ? '  ' : '! '}${what.padEnd(44)} ${(is / 1000).toFixed(1).padStart(7)} of ${(most / 1000).toFixed(0).padStart(4)} kB`);
}

const entry = Object.keys(manifest).find((key) => manifest[key].isEntry);
const first = closure(entry);
const pages = Object.keys(manifest).filter((key) => /^src\/page\/(?:[^/]+\/page|evaluations\/(?:list|run|compare|new))\.tsx$/.test(key));
check('first load, JavaScript (the shell alone)', js(first), budget.first_load_js);
for (const page of pages) {
  const all = closure(page, new Set(first));
  const own = new Set([...all].filter((key) => !first.has(key)));
  check(`${page}: chunk`, weight(manifest[page].file), budget.route_js);
  check(`${page}: first load, JavaScript`, js(first) + js(own), budget.first_load_js);
  check(`${page}: first load, CSS`, css(all), budget.first_load_css);
}
const files = [...new Set(Object.values(manifest).map((chunk) => chunk.file))].filter((file) => file.endsWith('.js'));
for (const [name, most] of Object.entries(budget.chunks)) {
  for (const file of files.filter((file) => file.startsWith(`assets/${name}-`))) check(`chunk ${name}`, weight(file), most);
}
check('all JavaScript', files.reduce((sum, file) => sum + weight(file), 0), budget.all_js);
process.exit(failed ? 1 : 0);
