import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    // Much of the time is waiting: for processes that start, and for the database. One worker would leave half the machine idle.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    projects: [
      { test: { name: 'unit', include: ['{lib,bin,i18n,components}/**/*.test.ts'], exclude: ['**/*.int.test.ts'] } },
      {
        test: {
          name: 'integration',
          include: ['lib/**/*.int.test.ts', 'bin/**/*.int.test.ts'],
          globalSetup: ['lib/testing/global-setup.ts'],
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
})
