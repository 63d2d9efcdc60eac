// The browser tests: `npm run e2e`. Each file starts a miniclaw of its own, so that files can run in parallel.
import { defineConfig } from '@playwright/test'
import { BROWSER } from './e2e/harness.mjs'

if (!process.env.MINICLAW_BIN) {
  console.error(
    'Set MINICLAW_BIN to the miniclaw binary that shall be tested; `cargo build` makes target/debug/miniclaw.',
  )
  process.exit(2)
}

export default defineConfig({
  testDir: 'e2e',
  testMatch: '*.test.mjs',
  outputDir: 'test-results',
  reporter: 'list',
  // The tests of a file depend on each other's conversations.
  fullyParallel: false,
  workers: 2,
  // Where a failure costs an hour, a test that fails runs once more, and the summary names it as flaky.
  retries: Number(process.env.E2E_RETRIES ?? 0),
  timeout: 120_000,
  expect: { timeout: 15_000 },
  use: {
    browserName: 'chromium',
    launchOptions: BROWSER,
    // Recording takes a fifth of the processor's time, so only what failed is recorded, when it runs again: E2E_RETRIES=1.
    // `npx playwright show-trace --port 0 test-results/…/trace.zip` opens one. Videos cost more than they show.
    trace: { mode: 'on-first-retry', screenshots: false },
    screenshot: 'only-on-failure',
  },
})
