import type { RunState } from '#lib/kernel/erasure-run.ts'
import type { Database } from '#lib/stores/postgres/database.ts'

export interface ActiveRun {
  id: string
  requestId: string | null
  /** Null when the run erases no part of a project. */
  projectId: string | null
  state: RunState
  stepsDone: number
  stepsTotal: number
  isStuck: boolean
  createdAt: Date
  /** Number of all runs, including those beyond the limit. */
  total: number
}

/** Filter: these runs, and runs of parts of projects that this actor requested (as named in the audit log). */
export interface ActiveRunFilter {
  runs: readonly string[]
  askedBy: string
}
/** Returns unfinished and failed runs, newest first, at most 20: all of them, or filtered. */
export const activeRuns = (db: Database, filter?: ActiveRunFilter): Promise<ActiveRun[]> =>
  db.query<ActiveRun>(
    'runs-under-way',
    `SELECT r.id, r.request_id AS "requestId", r.project_id AS "projectId", r.state::text AS state, r.created_at AS "createdAt", count(*) OVER ()::int AS total,
       s.done AS "stepsDone", s.total AS "stepsTotal", coalesce(r.state = 'failed' OR s.stuck > 0 OR (r.state IN ('planning', 'verifying') AND r.fault <> 'unavailable'), false) AS "isStuck"
     FROM erasure_runs r CROSS JOIN LATERAL (
       SELECT count(*)::int AS total, (count(*) FILTER (WHERE state = 'done'))::int AS done, count(*) FILTER (WHERE state = 'stuck') AS stuck
       FROM erasure_steps WHERE run_id = r.id) AS s
     WHERE r.state IN ('planning', 'erasing', 'verifying', 'failed') AND ($1::text[] IS NULL OR r.id = ANY($1::text[])
       OR (r.part_kind IS NOT NULL AND r.requested_by = $2))
     ORDER BY r.created_at DESC, r.id DESC LIMIT 20`,
    [filter?.runs ?? null, filter?.askedBy ?? null],
  )
