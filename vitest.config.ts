import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** These files run for a minute or more and mostly wait. They start first, so that the run does not end with waiting for them. */
const slowest = [
  'proofs/crashes-connected',
  'proofs/store-down',
  'proofs/fifty-at-once',
  'graph/neo4j-outage',
  'proofs/crashes',
  'proofs/due-day',
  'proofs/interleavings',
  'proofs/one-message',
].map((name) => `${name}.int.test.ts`)

class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const at = slowest.findIndex((name) => moduleId.endsWith(name))
      return at < 0 ? slowest.length : at
    }
    return (await super.sort(files)).sort((one, other) => rank(one) - rank(other))
  }
}

/** Installations of tests keep their ledgers and marks out of the folders of the user who runs the tests. */
const env = { XDG_STATE_HOME: join(tmpdir(), 'kp-test-state'), XDG_DATA_HOME: join(tmpdir(), 'kp-test-data') }

/** Node's own module loader, as in production: no second compiler, and every worker loads the application once. */
const native = {
  isolate: false,
  // Requests allocate much that lives briefly; a larger young generation collects it less often.
  execArgv: ['--max-semi-space-size=64'],
  experimental: { viteModuleRunner: false, nodeLoader: false },
}

export default defineConfig({
  test: {
    // Tests wait for processes and databases much of the time, so one more worker than there are cores.
    maxWorkers: Math.max(3, availableParallelism() + 1),
    sequence: { sequencer: SlowestFirst },
    slowTestThreshold: 5_000,
    // Workers store compiled code when they end.
    teardownTimeout: 60_000,
    projects: [
      {
        test: {
          name: 'unit',
          include: ['{lib,bin,i18n}/**/*.test.ts'],
          exclude: ['**/*.int.test.ts'],
          setupFiles: ['lib/testing/seeded-properties.ts'],
          // Property-based tests are slow on a busy machine.
          testTimeout: 120_000,
          env,
          ...native,
        },
      },
      {
        test: { name: 'components', include: ['components/**/*.test.ts'], testTimeout: 120_000, isolate: false },
      },
      {
        test: {
          name: 'integration',
          include: ['{lib,bin}/**/*.int.test.ts'],
          globalSetup: ['lib/testing/global-setup.ts'],
          setupFiles: ['lib/testing/seeded-properties.ts'],
          // Limits for hung tests only; benchmarks measure speed.
          testTimeout: 240_000,
          hookTimeout: 240_000,
          env,
          ...native,
        },
      },
    ],
  },
})
