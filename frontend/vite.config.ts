import tailwind from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import { diagramDocument } from './scripts/diagram.mjs'

export default defineConfig({
  plugins: [react(), tailwind(), diagramDocument()],
  base: './',
  resolve: { alias: { '@': new URL('./src', import.meta.url).pathname } },
  server: { proxy: { '/api': process.env.MINICLAW_URL ?? 'http://127.0.0.1:8002' } },
  build: {
    target: 'es2022',
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    manifest: true,
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            // The first load is one file: thirty small files cost more in overhead than in content.
            { name: 'initial', tags: ['$initial'], priority: 1 },
            // The same for the icons of all panes that are loaded later.
            { name: 'icons', test: /lucide-react/ },
          ],
        },
      },
    },
  },
})
