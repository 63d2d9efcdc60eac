import tailwind from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

export default defineConfig({
  plugins: [react(), tailwind()],
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
            // What the page begins with is one file: each of thirty small ones costs more than what is in it.
            { name: 'initial', tags: ['$initial'], priority: 1 },
            // Likewise the signs of all panes that come later.
            { name: 'icons', test: /lucide-react/ },
          ],
        },
      },
    },
  },
})
