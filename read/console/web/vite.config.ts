import react from '@vitejs/plugin-react';
import { loadEnv } from 'vite';
import { defineConfig } from 'vitest/config';

// Browsers that know light-dark() and oklch: lower ones would make the build rewrite both.
const browsers = ['chrome123', 'firefox120', 'safari17.5'];

/** layers puts the order of the layers before each part of the styles: parts load in any order, and the first one decides. */
const layers = {
  name: 'layers',
  enforce: 'pre' as const,
  transform: (code: string, id: string) => (id.endsWith('.module.css') ? `@layer reset, tokens, base, components;\n${code}` : undefined),
};

const service = loadEnv('', '.', 'COLONNADE_HOST')['COLONNADE_HOST'] ?? 'http://127.0.0.1:8080';

export default defineConfig({
  // Addresses of built files are relative: the service may stand below any prefix.
  base: './',
  plugins: [layers, react()],
  build: {
    outDir: '../dist',
    emptyOutDir: true,
    manifest: true,
    target: browsers,
    cssTarget: browsers,
    // Nothing is inlined: the policy of the page has no data: for scripts and fonts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        chunkFileNames: 'assets/[name]-[hash].js',
        codeSplitting: {
          groups: [
            { name: 'markdown', test: /node_modules\/(marked|dompurify)/ },
            { name: 'react', test: /node_modules\/(react|react-dom|scheduler)\// },
          ],
        },
      },
    },
  },
  worker: { format: 'es' },
  server: {
    port: 5173,
    strictPort: true,
    // One origin for page and service, or the cookie of the session would not be sent.
    proxy: Object.fromEntries(
      ['auth', 'spans', 'traces', 'annotations', 'simple', 'evaluations', 'environments', 'applications', 'workflows', 'evaluators',
        'testsets', 'queries', 'projects', 'workspaces', 'organizations', 'keys', 'secrets', 'rejected-spans', 'prices', 'status', 'readyz', 'healthz', 'downloads']
        .map((name) => [`^/${name}(/|\\?|$)`, { target: service }]),
    ),
  },
  test: { environment: 'node', include: ['src/**/*.test.ts'], watch: false, css: true, testTimeout: 30_000 },
});
