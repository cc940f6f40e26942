import type { Transaction } from '#lib/kernel/context.ts'
import { titlesForAdmins } from './repository.ts'

/** The titles of those units and skills that every admin may see, by id. */
export async function sharedTitles(tx: Transaction, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map()
  const rows = await titlesForAdmins(tx, { ids })
  return new Map(rows.map(({ id, title }) => [id, title]))
}
