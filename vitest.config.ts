import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Short files that take minutes, most of them waiting: for servers that are stopped and started, for windows of limits. The pattern is of the path. */
const waitsLong =
  /\/lib\/proofs\/(crashes|due-day|store-down|fifty)|\/lib\/stores\/graph\/|\/bin\/kp\/subject-rights|\/killed-worker/

/** Without times of an earlier run the largest files go first, and what waits would be left over for the end, when nobody works beside it. */
class WaitingFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const waits = ({ moduleId }: TestSpecification): boolean => waitsLong.test(moduleId)
    return [...sorted.filter(waits), ...sorted.filter((file) => !waits(file))]
  }
}

export default defineConfig({
  test: {
    // Much of the time is waiting: for processes that start, and for the database. One worker would leave half the machine idle.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    sequence: { sequencer: WaitingFirst },
    projects: [
      { test: { name: 'unit', include: ['{lib,bin,i18n,components}/**/*.test.ts'], exclude: ['**/*.int.test.ts'] } },
      {
        test: {
          name: 'integration',
          include: ['lib/**/*.int.test.ts', 'bin/**/*.int.test.ts'],
          globalSetup: ['lib/testing/global-setup.ts'],
          // Against what hangs; how fast something is, benches tell.
          testTimeout: 90_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
})
