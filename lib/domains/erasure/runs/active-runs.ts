import type { RunState } from '#lib/kernel/erasure-run.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { activeRunRows } from './repository.ts'

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
  activeRunRows(db, { runs: filter?.runs ?? null, askedBy: filter?.askedBy ?? null })
