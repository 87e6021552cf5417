// Writes each built file as .gz beside it, which the service sends as it is.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

const dist = new URL('../../dist/', import.meta.url).pathname;

for (const entry of readdirSync(join(dist, 'assets'), { recursive: true, withFileTypes: true })) {
  if (!entry.isFile()) continue;
  const file = join(entry.parentPath, entry.name);
  const plain = readFileSync(file);
  const zipped = gzipSync(plain, { level: 9 });
  if (zipped.length < plain.length) writeFileSync(`${file}.gz`, zipped);
}
