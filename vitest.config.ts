import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
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
