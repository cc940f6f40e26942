import type { Periods } from '#lib/kernel/expiring.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { countStoredUntil } from './repository.ts'

const day = 86_400_000

export interface ExpiringSummary {
  visibility: keyof Periods
  count: number
  /** When the first of them expires. */
  firstAt: Date
}
export interface ExpiringFor {
  agents: readonly string[]
  organisationId: string | undefined
}

/** Counts units and skills of these agents that retention will delete by `until`, except those under a legal hold. */
export async function expiringSoon(
  db: Database,
  { agents, organisationId }: ExpiringFor,
  periods: Periods,
  { now, until }: { now: Date; until: Date },
): Promise<ExpiringSummary[]> {
  const scopes: Record<keyof Periods, string[]> = {
    network: ['network'],
    org: organisationId === undefined ? [] : [`org:${organisationId}`],
    private: agents.map((id) => `agent:${id}`),
  }
  const visibilities = ['network', 'org', 'private'] as const
  const searched = visibilities.flatMap((visibility) => {
    const days = periods[visibility]
    if (days === null) return []
    const before = new Date(until.getTime() - days * day)
    return scopes[visibility].map((scope) => ({ visibility, scope, before }))
  })
  if (agents.length === 0 || searched.length === 0) return []
  const records = await countStoredUntil(db, { scopes: searched, agents, now })
  return records.map(({ visibility, n, since }) => ({
    visibility,
    count: n,
    firstAt: new Date(since.getTime() + (periods[visibility] ?? 0) * day),
  }))
}
