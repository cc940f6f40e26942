import { type EvidenceCheck, failsIf } from '#lib/kernel/evidence.ts'
import type { Measuring } from '#lib/kernel/measure.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { overdueExchanges } from './repository.ts'
import { latest } from './rules.ts'

/** For how many milliseconds the oldest exchange without a legal hold has been expired; 0 when none has. */
export const logLateness = async (db: Database, now: Date): Promise<number> =>
  (await overdueExchanges(db, { now }))[0]?.late ?? 0
/** The purge runs every ten minutes, so a longer delay means that it failed. */
export const isLate = (milliseconds: number): boolean => milliseconds > latest

export const llmLogMeasures = (db: Database): Measuring => ({
  name: 'llm_log',
  measure: async (now) => [
    {
      name: 'kp_llm_log_overdue_seconds',
      help: 'Seconds since the oldest logged exchange with a language model should have been deleted; alarm above 3600',
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
      const [{ late, n } = { late: 0, n: 0 }] = await overdueExchanges(query, { now })
      return { state: failsIf(isLate(late)), numbers: { standing: n, minutes: Math.floor(late / 60_000) } }
    },
  },
]
