import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

/** Minutes of waiting each, for servers that are stopped, killed and started: beside the others they cost next to nothing. */
const waiting = [
  'lib/proofs/{store-down,crashes-connected,fifty-at-once,due-day}.int.test.ts',
  'lib/stores/graph/neo4j-outage.int.test.ts',
  'lib/domains/exports/killed-worker.int.test.ts',
]
const withServers = {
  globalSetup: ['lib/testing/global-setup.ts'],
  // Against what hangs; how fast something is, benches tell.
  testTimeout: 90_000,
  hookTimeout: 120_000,
}

export default defineConfig({
  test: {
    // Much of the time is waiting: for processes that start, and for the database. One worker would leave half the machine idle.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    projects: [
      {
        test: {
          name: 'unit',
          include: ['{lib,bin,i18n,components}/**/*.test.ts'],
          exclude: ['**/*.int.test.ts'],
          // Of a property on a busy machine.
          testTimeout: 30_000,
        },
      },
      {
        test: {
          name: 'integration',
          include: ['lib/**/*.int.test.ts', 'bin/**/*.int.test.ts'],
          exclude: waiting,
          ...withServers,
        },
      },
      { test: { name: 'waiting', include: waiting, ...withServers } },
    ],
  },
})
