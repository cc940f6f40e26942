import type { RunState, StepState } from '#lib/kernel/erasure-run.ts'
import type { ProjectPart } from '#lib/kernel/erasure-scope.ts'
import { statement, typed } from '#lib/stores/postgres/statement.ts'

/** A run as stored, without its lock. */
export const lockRunRow = statement('erasure.lock-run', {
  takes: { id: 'text' },
  returns: {
    id: 'text',
    requestId: 'text?',
    receiptId: 'text',
    accountId: 'text?',
    agents: 'text[]!',
    participants: 'text[]!',
    partKind: 'text?',
    partId: 'text?',
    projectId: 'text?',
    conversationId: 'text?',
    redacts: 'bool',
    projects: 'text[]!',
    fault: 'text?',
    auditId: 'text?',
    requestedBy: 'text',
    reason: 'text',
    state: typed<RunState>('erasure_run_state'),
    holdsSeen: 'text',
    planId: 'text',
    rounds: 'int4',
    createdAt: 'timestamptz',
    fencedAt: 'timestamptz?',
    plannedAt: 'timestamptz?',
    erasedAt: 'timestamptz?',
    finishedAt: 'timestamptz?',
    recheckAt: 'timestamptz?',
    recheckedAt: 'timestamptz?',
    lateFound: 'int4',
  },
  isPrepared: true,
  sql: (
    lock: 'SHARE' | 'UPDATE',
  ) => `SELECT id, request_id AS "requestId", receipt_id AS "receiptId", account_id AS "accountId",
    agents, participants, part_kind AS "partKind", part_id AS "partId", project_id AS "projectId", conversation_id AS "conversationId",
    redacts, projects, fault, audit_id AS "auditId", requested_by AS "requestedBy", reason, state, holds_seen AS "holdsSeen",
    plan_id AS "planId", rounds, created_at AS "createdAt", fenced_at AS "fencedAt", planned_at AS "plannedAt",
    erased_at AS "erasedAt", finished_at AS "finishedAt", recheck_at AS "recheckAt", rechecked_at AS "recheckedAt",
    late_found AS "lateFound" FROM erasure_runs WHERE id = $id FOR ${lock}`,
  variants: ['SHARE', 'UPDATE'],
})

/** The steps of a run in order, without counts. */
export const stepTurns = statement('erasure.step-turns', {
  takes: { runId: 'text' },
  returns: { holder: 'text', store: 'text', position: 'int4', state: typed<StepState>('erasure_step_state') },
  isPrepared: true,
  sql: 'SELECT holder, store, position, state FROM erasure_steps WHERE run_id = $runId ORDER BY position',
})

const lockPartName = statement('erasure.lock-part', {
  takes: { name: 'text' },
  returns: { lock: 'text' },
  sql: 'SELECT pg_advisory_xact_lock(hashtext($name))::text AS lock',
})
/** Serializes concurrent requests to erase the same part, until the end of the transaction. */
export const lockPart = (on: Parameters<typeof lockPartName>[0], { kind, project, id }: ProjectPart) =>
  lockPartName(on, { name: `erasure_runs ${kind} ${project} ${id}` })

/** Unfinished and failed runs, newest first, at most 20. `runs` null: all of them. Otherwise only those that the filter names. */
export const activeRunRows = statement('erasure.active-runs', {
  takes: { runs: 'text[]?', askedBy: 'text?' },
  returns: {
    id: 'text',
    requestId: 'text?',
    projectId: 'text?',
    state: typed<RunState>('text'),
    createdAt: 'timestamptz',
    total: 'int4',
    stepsDone: 'int4',
    stepsTotal: 'int4',
    isStuck: 'bool',
  },
  isPrepared: true,
  sql: `SELECT r.id, r.request_id AS "requestId", r.project_id AS "projectId", r.state::text AS state, r.created_at AS "createdAt",
      count(*) OVER ()::int AS total, s.done AS "stepsDone", s.total AS "stepsTotal",
      coalesce(r.state = 'failed' OR s.stuck > 0 OR (r.state IN ('planning', 'verifying') AND r.fault <> 'unavailable'), false) AS "isStuck"
    FROM erasure_runs r CROSS JOIN LATERAL (
      SELECT count(*)::int AS total, (count(*) FILTER (WHERE state = 'done'))::int AS done, count(*) FILTER (WHERE state = 'stuck') AS stuck
      FROM erasure_steps WHERE run_id = r.id) AS s
    WHERE r.state IN ('planning', 'erasing', 'verifying', 'failed') AND ($runs IS NULL OR r.id = ANY($runs)
      OR (r.part_kind IS NOT NULL AND r.requested_by = $askedBy))
    ORDER BY r.created_at DESC, r.id DESC LIMIT 20`,
})
