import react from '@vitejs/plugin-react'
import { defineConfig } from 'vitest/config'
import { diagramDocument } from './scripts/diagram.mjs'

const shared = {
  environment: 'happy-dom',
  restoreMocks: true,
  // A slow machine is no fault of what is tested.
  testTimeout: 20_000,
}

export default defineConfig({
  plugins: [react(), diagramDocument()],
  resolve: { alias: { '@': new URL('./src', import.meta.url).pathname } },
  test: {
    projects: [
      {
        extends: true,
        test: {
          ...shared,
          name: 'components',
          include: ['test/*.test.ts', 'test/component/*.test.{ts,tsx}'],
          setupFiles: ['test/setup.ts', 'test/setup-components.ts'],
        },
      },
      // Without what draws components: loading it takes longer than most of these tests.
      {
        extends: true,
        test: {
          ...shared,
          name: 'units',
          include: ['test/unit/*.test.{ts,mjs}'],
          setupFiles: ['test/setup.ts'],
        },
      },
    ],
  },
})
