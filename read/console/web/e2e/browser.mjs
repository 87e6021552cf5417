// The system's Chromium: that of COLONNADE_TEST_CHROMIUM, else one of the PATH.
import { accessSync, constants } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { chromium } from 'playwright-core';

function executable() {
  const named = process.env.COLONNADE_TEST_CHROMIUM;
  const names = named ? [named] : ['chromium', 'chromium-browser', 'google-chrome'];
  for (const name of names) {
    for (const dir of isAbsolute(name) ? [''] : (process.env.PATH ?? '').split(delimiter)) {
      const path = dir ? join(dir, name) : name;
      try {
        accessSync(path, constants.X_OK);
        return path;
      } catch {
        // The next place may have it.
      }
    }
  }
  throw new Error('There is no Chromium: install the package chromium, or name a browser in COLONNADE_TEST_CHROMIUM.');
}

/** launch starts the browser. Its sandbox does not work for root. */
export function launch() {
  return chromium.launch({ executablePath: executable(), args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] });
}
