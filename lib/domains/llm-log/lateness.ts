import { type DatabaseQuery, type EvidenceCheck, failsIf } from '#lib/kernel/evidence.ts'
import type { Measuring } from '#lib/kernel/measure.ts'
import { agentsUnderLegalHold } from '#lib/stores/postgres/agents-under-legal-hold.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { latest } from './rules.ts'

/**
 * Milliseconds since the oldest exchange without a legal hold expired; 0 when none has. After a hold, expired
 * exchanges count until the next purge.
 */
const overdue = `SELECT coalesce(extract(epoch FROM $1::timestamptz - min(expires_at)) * 1000, 0)::float8 AS late,
  count(*)::int AS n FROM llm_log_entries WHERE expires_at <= $1 AND agent_id NOT IN (${agentsUnderLegalHold('$1')})`

/** How many exchanges have expired, and for how many milliseconds the oldest. */
export async function overdueExchanges(query: DatabaseQuery, now: Date): Promise<{ late: number; n: number }> {
  const [row] = await query<{ late: number; n: number }>(overdue, [now])
  return row ?? { late: 0, n: 0 }
}
export async function logLateness(db: Database, now: Date): Promise<number> {
  const [row] = await db.query<{ late: number }>('llm-log-overdue', overdue, [now])
  return row?.late ?? 0
}
/** The purge runs every ten minutes, so a longer delay means that it failed. */
export const isLate = (milliseconds: number): boolean => milliseconds > latest

export const llmLogMeasures = (db: Database): Measuring => ({
  name: 'llm_log',
  measure: async (now) => [
    {
      name: 'kp_llm_log_overdue_seconds',
      help: 'How long the oldest logged exchange with a language model has stood past its 24 hours; alarm above 3600',
      type: 'gauge',
      samples: [{ value: (await logLateness(db, now)) / 1000 }],
    },
  ],
})

/** Storage limitation (GDPR art. 5(1)(e)) of the data with the shortest retention. */
export const llmLogEvidence = (): EvidenceCheck[] => [
  {
    line: 'storage_limitation',
    name: 'llm-log.overdue',
    page: null,
    async ask(query, now) {
      const { late, n } = await overdueExchanges(query, now)
      return { state: failsIf(isLate(late)), numbers: { standing: n, minutes: Math.floor(late / 60_000) } }
    },
  },
]
