import type { Transaction } from '#lib/kernel/context.ts'
import type { ErasedRunMatch } from '#lib/kernel/data-source.ts'
import { runNeedles } from '../words/run-needles.ts'
import { textsElsewhere } from './repository.ts'

/** Returns the runs in `quoted` that also occur in messages or documents of other projects. Reads every text and returns no content. */
export async function runsElsewhere(
  tx: Transaction,
  {
    projects,
    quoted,
    runsIn,
    now,
  }: {
    projects: readonly string[]
    quoted: readonly string[]
    runsIn(text: string): readonly ErasedRunMatch[]
    now: Date
  },
): Promise<Set<number>> {
  const needles = runNeedles(quoted) ?? []
  const rows = await textsElsewhere(tx, { projects, pattern: needles.join('|'), now })
  return new Set(rows.flatMap(({ text }) => runsIn(text).map(({ run }) => run)))
}
