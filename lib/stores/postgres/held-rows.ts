import type { Transaction } from '#lib/kernel/context.ts'
import type { Holding } from '#lib/kernel/holder.ts'
import { type Database, queryWithin } from './database.ts'
import { type Ask, snapshot } from './snapshot.ts'

/** Items of one statement. */
const most = 1_000
export const chunked = (items: readonly string[]): string[][] =>
  Array.from({ length: Math.ceil(items.length / most) }, (_, n) => items.slice(n * most, (n + 1) * most))

/**
 * Many rows go by their ids while the planner still believes what it counted before: from here to the end of the transaction it takes
 * the index, always.
 */
export const byIndex = (tx: Transaction) =>
  queryWithin(tx, 'by-index', "SELECT set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)", [])

/** How many rows are left: the sum of `n` over the questions, asked of one state of the database, by indexes. */
export const countLeft = (
  db: Database,
  questions: (ask: (text: string, values: readonly unknown[]) => Promise<void>) => Promise<void>,
) =>
  snapshot(db, { enable_seqscan: 'off', jit: 'off' }, async (ask: Ask) => {
    let left = 0
    await questions(async (text, values) => {
      const [row] = await ask<{ n: number }>(text, values)
      left += row?.n ?? 0
    })
    return left
  })

/** A holding from one row of `n`, `since` and, where a term runs, `until`. */
export async function holding(db: Database, name: string, text: string, values: readonly unknown[]): Promise<Holding> {
  const [row] = await db.query<{ n: number; since: Date | null; until?: Date | null }>(name, text, values)
  return { count: row?.n ?? 0, since: row?.since ?? null, until: row?.until ?? null }
}
