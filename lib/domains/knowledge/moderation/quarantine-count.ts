import type { Database } from '#lib/stores/postgres/database.ts'
import { countQuarantined } from './repository.ts'

/** Number of units and skills in quarantine; each count stops at 1,001. */
export async function quarantined(db: Database): Promise<number> {
  const [row] = await countQuarantined(db, {})
  return row?.n ?? 0
}
