import type { RunState } from '#lib/kernel/erasure-run.ts'
import type { Database } from '#lib/stores/postgres/database.ts'

export interface RunUnderWay {
  id: string
  requestId: string | null
  state: RunState
  stepsDone: number
  stepsTotal: number
  isStuck: boolean
  createdAt: Date
  /** Of all of them, also those that are not given. */
  total: number
}

/** Erasures of subjects that are not over, and those that gave up, newest first: all of them, or those of these runs; 20 at most. */
export const runsUnderWay = (db: Database, runs?: readonly string[]): Promise<RunUnderWay[]> =>
  db.query<RunUnderWay>(
    'runs-under-way',
    `SELECT r.id, r.request_id AS "requestId", r.state::text AS state, r.created_at AS "createdAt", count(*) OVER ()::int AS total,
       s.done AS "stepsDone", s.total AS "stepsTotal", r.state = 'failed' OR s.stuck > 0 AS "isStuck"
     FROM erasure_runs r CROSS JOIN LATERAL (
       SELECT count(*)::int AS total, (count(*) FILTER (WHERE state = 'done'))::int AS done, count(*) FILTER (WHERE state = 'stuck') AS stuck
       FROM erasure_steps WHERE run_id = r.id) AS s
     WHERE r.state IN ('planning', 'erasing', 'verifying', 'failed') AND ($1::text[] IS NULL OR r.id = ANY($1::text[]))
     ORDER BY r.created_at DESC, r.id DESC LIMIT 20`,
    [runs ?? null],
  )
