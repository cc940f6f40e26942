import type { Transaction } from '#lib/kernel/context.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { countLimiterRevocations, summaryOfAgents } from './repository.ts'

/** Summarizes the active tokens of these agents; `expiring` counts those that expire before `until`. */
export async function tokenSummary(db: Database, agents: readonly string[], span: { now: Date; until: Date }) {
  const [row] = await summaryOfAgents(db, { agents, ...span })
  return row ?? { active: 0, expiring: 0, nextExpiry: null, lastUsedAt: null }
}

/** Counts tokens revoked by the rate limiter after `since`. */
export async function revokedByLimits(db: Database, since: Date): Promise<number> {
  const [row] = await countLimiterRevocations(db, { agent: null, since })
  return row?.n ?? 0
}

/** The name and the prefix of each token, by token id. */
export async function tokenNames(tx: Transaction, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map()
  const rows = await tx.token.findMany({
    where: { id: { in: [...ids] } },
    select: { id: true, name: true, prefix: true },
  })
  return new Map(rows.map(({ id, name, prefix }) => [id, name === null ? prefix : `${name} ${prefix}`]))
}
