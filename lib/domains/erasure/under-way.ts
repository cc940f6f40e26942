import type { RunState } from '#lib/kernel/erasure-run.ts'
import type { Database } from '#lib/stores/postgres/database.ts'

export interface RunUnderWay {
  id: string
  requestId: string | null
  /** Where it is about a part of a project. */
  projectId: string | null
  state: RunState
  stepsDone: number
  stepsTotal: number
  isStuck: boolean
  createdAt: Date
  /** Of all of them, also those that are not given. */
  total: number
}

/** Whose erasures are meant: these runs, and those of parts of projects that somebody asked for, as the audit log names them. */
export interface WhoseRuns {
  runs: readonly string[]
  askedBy: string
}
/** Erasures that are not over, and those that gave up, newest first: all of them, or somebody’s; 20 at most. */
export const runsUnderWay = (db: Database, whose?: WhoseRuns): Promise<RunUnderWay[]> =>
  db.query<RunUnderWay>(
    'runs-under-way',
    `SELECT r.id, r.request_id AS "requestId", r.project_id AS "projectId", r.state::text AS state, r.created_at AS "createdAt", count(*) OVER ()::int AS total,
       s.done AS "stepsDone", s.total AS "stepsTotal", coalesce(r.state = 'failed' OR s.stuck > 0 OR (r.state IN ('planning', 'verifying') AND r.fault <> 'unavailable'), false) AS "isStuck"
     FROM erasure_runs r CROSS JOIN LATERAL (
       SELECT count(*)::int AS total, (count(*) FILTER (WHERE state = 'done'))::int AS done, count(*) FILTER (WHERE state = 'stuck') AS stuck
       FROM erasure_steps WHERE run_id = r.id) AS s
     WHERE r.state IN ('planning', 'erasing', 'verifying', 'failed') AND ($1::text[] IS NULL OR r.id = ANY($1::text[])
       OR (r.part_kind IS NOT NULL AND r.requested_by = $2))
     ORDER BY r.created_at DESC, r.id DESC LIMIT 20`,
    [whose?.runs ?? null, whose?.askedBy ?? null],
  )
