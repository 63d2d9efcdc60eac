import react from '@vitejs/plugin-react'
import { defineConfig } from 'vitest/config'
import { diagramDocument } from './scripts/diagram.mjs'

export default defineConfig({
  plugins: [react(), diagramDocument()],
  resolve: { alias: { '@': new URL('./src', import.meta.url).pathname } },
  test: {
    environment: 'happy-dom',
    include: ['test/**/*.test.{ts,tsx,mjs}'],
    restoreMocks: true,
    // A slow machine is no fault of what is tested.
    testTimeout: 20_000,
    setupFiles: ['test/setup.ts'],
  },
})
