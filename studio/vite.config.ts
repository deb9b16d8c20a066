import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

// The built files go into the Python package, which serves them; the nonce is filled in by the server for every answer.
export default defineConfig({
  base: './',
  plugins: [react()],
  html: { cspNonce: '__CSP_NONCE__' },
  build: {
    outDir: '../src/omnigraph/server/studio/built',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 700,
    target: 'es2022',
  },
  worker: { format: 'es' },
  server: { proxy: { '^/(graphs|healthz|readyz|openapi.json|studio/session)': 'http://127.0.0.1:8080' } },
});
