import { defineConfig } from '@playwright/test'
import { findBrowser } from './e2e/browser.ts'
import { origin } from './e2e/credentials.ts'

// The names of tests contain the seed, and each worker process computes them again.
process.env.KP_SEED ??= String(Date.now() % 2 ** 31)
const executablePath = process.env.KP_BROWSER ?? findBrowser()

export default defineConfig({
  testDir: 'e2e',
  fullyParallel: false,
  // The tests share one server and one database, so they run one after the other.
  workers: 1,
  forbidOnly: Boolean(process.env.CI),
  reporter: 'list',
  projects: [
    { name: 'console', testIgnore: 'next-start.spec.ts' },
    // The same build, served by `next start` without the API server.
    { name: 'next-start', testMatch: 'next-start.spec.ts' },
  ],
  // Even on a busy machine, only a hung test reaches this limit.
  timeout: 240_000,
  // A block that is repeated until it passes may wait for the next minute of a rate limit.
  expect: { timeout: 30_000, toPass: { timeout: 120_000 } },
  use: {
    // Less than the limit of a test, so that a failure names the action that waited.
    actionTimeout: 60_000,
    navigationTimeout: 90_000,
    baseURL: origin,
    locale: 'en-GB',
    timezoneId: 'Europe/Berlin',
    // Actions, requests and console of a failed test. `--trace retain-on-failure` adds screenshots and copies of the document, which take processor time.
    trace: { mode: 'retain-on-failure', screenshots: false, snapshots: false, sources: false },
    launchOptions: {
      ...(executablePath !== undefined && { executablePath }),
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
      ],
    },
  },
  webServer: {
    command: 'exec node_modules/.bin/node e2e/start.ts',
    url: `${origin}/health`,
    // Includes a build on a busy machine.
    timeout: 1_800_000,
    stdout: 'pipe',
    gracefulShutdown: { signal: 'SIGTERM', timeout: 15_000 },
  },
})
