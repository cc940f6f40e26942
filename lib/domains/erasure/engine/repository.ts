import type { RunState } from '#lib/kernel/erasure-run.ts'
import type { StoreRefusal } from '#lib/kernel/store-refusal.ts'
import { statement, typed } from '#lib/stores/postgres/statement.ts'

export type FencedKind = 'account' | 'agent' | 'participant'

// Units and skills

/** When a unit or skill was stored. */
export const recordCreated = statement('erasure.record-created', {
  takes: { id: 'text' },
  returns: { at: 'timestamptz' },
  isPrepared: true,
  sql: 'SELECT created_at AS at FROM agent_records WHERE id = $id',
})

/** Removes a job from the queue, if it is still there. */
export const removeJob = statement('erasure.remove-job', {
  takes: { key: 'text' },
  returns: { done: 'int4' },
  isPrepared: true,
  sql: 'SELECT 1 AS done FROM (SELECT graphile_worker.remove_job($key)) AS removed',
})

// Fences

/** Fences agents, an account and participants. If two runs erase the same agent, the later one owns the fence. */
export const raiseFences = statement('erasure.raise-fences', {
  takes: {
    runId: 'text',
    fencedAt: 'timestamptz',
    fences: typed<readonly { kind: FencedKind; value: string }[]>('jsonb'),
  },
  returns: 'count',
  sql: `INSERT INTO write_fences (kind, id, run_id, raised_at, organisation_id, registered_at)
    SELECT f.kind, f.value, $runId, $fencedAt, b.organisation_id, b.registered_at
    FROM jsonb_to_recordset($fences) AS f(kind text, value text)
      LEFT JOIN name_bearers b ON b.kind = f.kind AND b.id = f.value
    ON CONFLICT (kind, id) DO UPDATE SET run_id = excluded.run_id`,
})

/** Hands the fences of a run over to other unfinished runs of the same subjects. Returns the fences that remain. */
export const handOverFences = statement('erasure.hand-over-fences', {
  takes: { runId: 'text' },
  returns: {
    kind: typed<FencedKind>('text'),
    id: 'text',
    organisationId: 'text?',
    runId: 'text',
    since: 'timestamptz!',
  },
  sql: `UPDATE write_fences f SET run_id = r.id FROM erasure_runs r
    WHERE f.run_id = $runId AND r.id <> $runId AND r.fenced_at IS NOT NULL AND r.state <> 'done'
      AND CASE f.kind WHEN 'agent' THEN f.id = ANY(r.agents) WHEN 'participant' THEN f.id = ANY(r.participants) ELSE f.id = r.account_id END
    RETURNING f.kind, f.id, f.organisation_id AS "organisationId", r.id AS "runId", r.fenced_at AS since`,
})

// Plans

/** Inserts or updates the steps of a run with the counts of a plan. */
export const upsertSteps = statement('erasure.upsert-steps', {
  takes: { runId: 'text', steps: 'jsonb' },
  returns: 'count',
  isPrepared: true,
  sql: `INSERT INTO erasure_steps AS s (run_id, holder, store, position, held, erased, planned, results, state, finished_at)
    SELECT $runId, p.holder, p.store, p.position, p.held, p.erased, p.planned, p.results, p.state::erasure_step_state, p.finished_at
    FROM jsonb_to_recordset($steps) AS p (holder text, store text, position int, held jsonb, erased int, planned int, results jsonb, state text, finished_at timestamptz)
    ON CONFLICT (run_id, holder) DO UPDATE SET store = excluded.store, position = excluded.position, held = excluded.held,
      erased = excluded.erased, planned = excluded.planned, results = excluded.results, state = excluded.state,
      attempts = 0, residue = NULL, fault = NULL, finished_at = excluded.finished_at`,
})

/** Inserts pages of at most `size` items, from the page number `first` on. */
export const insertPages = statement('erasure.insert-pages', {
  takes: { runId: 'text', holder: 'text', first: 'int4', items: 'text[]', size: 'int4', isWatched: 'bool' },
  returns: 'count',
  isPrepared: true,
  sql: `INSERT INTO erasure_pages (run_id, holder, page, items, is_watched)
    SELECT $runId, $holder, $first + ((place - 1) / $size)::int, array_agg(item ORDER BY place), $isWatched
    FROM unnest($items) WITH ORDINALITY AS planned(item, place) GROUP BY (place - 1) / $size`,
})

/** The data sources that have pages in a run, either erased or not yet erased. */
export const sourcesWithPages = statement('erasure.sources-with-pages', {
  takes: { runId: 'text', isErased: 'bool' },
  returns: { holder: 'text' },
  isPrepared: true,
  sql: 'SELECT DISTINCT holder FROM erasure_pages WHERE run_id = $runId AND (erased_at IS NOT NULL) = $isErased',
})

// Steps

/** Locks a step. Two workers of the same step take turns: each finds the pages that the other has not erased. */
export const lockStep = statement('erasure.lock-step', {
  takes: { runId: 'text', holder: 'text' },
  returns: { results: typed<Record<string, number>>('jsonb'), startedAt: 'timestamptz?', fault: 'text?' },
  isPrepared: true,
  sql: 'SELECT results, started_at AS "startedAt", fault FROM erasure_steps WHERE run_id = $runId AND holder = $holder FOR UPDATE',
})

const lockName = statement('erasure.lock-step-ends', {
  takes: { name: 'text' },
  returns: { lock: 'text' },
  isPrepared: true,
  sql: 'SELECT pg_advisory_xact_lock(hashtextextended($name, 0))::text AS lock',
})
/** Lets steps of a run that end concurrently take turns, so that the last one knows that it is the last. */
export const lockStepEnds = (on: Parameters<typeof lockName>[0], runId: string) =>
  lockName(on, { name: `erasure step ends ${runId}` })

/** Returns a row while a step has a page that is not erased. */
export const openPage = statement('erasure.open-page', {
  takes: { runId: 'text', holder: 'text' },
  returns: { page: 'int4' },
  isPrepared: true,
  sql: 'SELECT page FROM erasure_pages WHERE run_id = $runId AND holder = $holder AND erased_at IS NULL LIMIT 1',
})

/** The first page of a step that is not erased, and whether another follows. */
export const firstOpenPage = statement('erasure.first-open-page', {
  takes: { runId: 'text', holder: 'text' },
  returns: { page: 'int4', items: 'text[]!', isWatched: 'bool', hasNext: 'bool' },
  isPrepared: true,
  sql: `SELECT page, items, is_watched AS "isWatched", EXISTS (SELECT FROM erasure_pages n
      WHERE n.run_id = $runId AND n.holder = $holder AND n.erased_at IS NULL AND n.page > p.page) AS "hasNext"
    FROM erasure_pages p WHERE run_id = $runId AND holder = $holder AND erased_at IS NULL ORDER BY page LIMIT 1`,
})

export const markPageErased = statement('erasure.mark-page-erased', {
  takes: { runId: 'text', holder: 'text', page: 'int4', now: 'timestamptz' },
  returns: 'count',
  isPrepared: true,
  sql: 'UPDATE erasure_pages SET erased_at = $now WHERE run_id = $runId AND holder = $holder AND page = $page',
})

/** Blocks ids of erased records for new records. */
export const insertErasedIds = statement('erasure.insert-erased-ids', {
  takes: { receiptId: 'text', erasedAt: 'timestamptz', ids: 'text[]', publicIds: 'text[]' },
  returns: 'count',
  isPrepared: true,
  sql: `INSERT INTO erased_ids (id, receipt_id, erased_at, was_public)
    SELECT id, $receiptId, $erasedAt, false FROM unnest($ids) AS id
    UNION ALL SELECT id, $receiptId, $erasedAt, true FROM unnest($publicIds) AS id
    ON CONFLICT DO NOTHING`,
})

/** The record of a tallied id. See `idOfPart`. */
const recordOf = (id: string) => `split_part(${id}, E'\\n', 1)`
const isDeleted = { ids: 't.id = g.id', parts: `(t.id = g.id OR ${recordOf('t.id')} = g.id)` }
/**
 * Adds ids to a tallied count and removes deleted ones. Returns by how much the count changes. Finds each id in the index of records, and
 * hides the run from the planner: while its statistics say that the table is small, it would read all tallies of the run for every page.
 */
export const tally = statement('erasure.tally', {
  takes: { runId: 'text', holder: 'text', name: 'text', met: 'text[]', gone: 'text[]' },
  returns: { n: 'int4' },
  isPrepared: true,
  sql: (of: keyof typeof isDeleted) => `WITH met AS (INSERT INTO erasure_tallies (run_id, holder, name, id)
      SELECT $runId, $holder, $name, id FROM unnest($met) AS id ON CONFLICT DO NOTHING RETURNING 1),
    gone AS (DELETE FROM erasure_tallies WHERE ctid = ANY (ARRAY(SELECT l.at FROM unnest($gone) AS g (id), LATERAL (
      SELECT t.ctid AS at FROM erasure_tallies t WHERE ${recordOf('t.id')} = ${recordOf('g.id')} AND ${isDeleted[of]}
        AND t.run_id || '' = $runId AND t.holder || '' = $holder AND t.name || '' = $name OFFSET 0) AS l)) RETURNING 1)
    SELECT ((SELECT count(*) FROM met) - (SELECT count(*) FROM gone))::int AS n`,
  variants: ['ids', 'parts'],
})

// Mentions

/** Stores where erased words or names remain. */
export const storeMentions = statement('erasure.store-mentions', {
  takes: { runId: 'text', mentions: 'jsonb' },
  returns: 'count',
  isPrepared: true,
  sql: `INSERT INTO remaining_mentions (run_id, store, kind, id, field, is_redacted)
    SELECT $runId, m.store, m.kind, m.id, m.field, bool_or(m."isRedacted")
    FROM jsonb_to_recordset($mentions) AS m(store text, kind text, id text, field text, "isRedacted" boolean)
    GROUP BY m.store, m.kind, m.id, m.field
    ON CONFLICT (run_id, store, kind, id, field) DO UPDATE SET is_redacted = excluded.is_redacted`,
})

/** The number of places where erased words or names remain, by store, kind and field. */
export const mentionCounts = statement('erasure.mention-counts', {
  takes: { runId: 'text' },
  returns: { store: 'text', kind: 'text', field: 'text', count: 'int4' },
  isPrepared: true,
  sql: `SELECT store, kind, field, count(*)::int AS count FROM remaining_mentions WHERE run_id = $runId AND NOT is_redacted
    GROUP BY store, kind, field ORDER BY store, kind, field`,
})

/** The number of places where names were replaced. */
export const countRedacted = statement('erasure.count-redacted', {
  takes: { runId: 'text' },
  returns: { n: 'int4' },
  isPrepared: true,
  sql: 'SELECT count(*)::int4 AS n FROM remaining_mentions WHERE run_id = $runId AND is_redacted',
})

// Waits

/** Records that a store rejects the requests of a run. */
export const upsertRefusal = statement('erasure.upsert-refusal', {
  takes: { runId: 'text', store: 'text', now: 'timestamptz', refusal: 'text' },
  returns: 'count',
  sql: `INSERT INTO erasure_waits (run_id, store, since, tried_at, refusal) VALUES ($runId, $store, $now, $now, $refusal)
    ON CONFLICT (run_id, store) DO UPDATE SET tries = erasure_waits.tries + 1, tried_at = excluded.tried_at, refusal = excluded.refusal,
      since = CASE WHEN erasure_waits.refusal IS NULL THEN excluded.since ELSE erasure_waits.since END,
      alerted_at = CASE WHEN erasure_waits.refusal IS NULL THEN NULL ELSE erasure_waits.alerted_at END`,
})

/** Records that a run waits for a store. */
export const upsertWait = statement('erasure.upsert-wait', {
  takes: { runId: 'text', store: 'text', now: 'timestamptz' },
  returns: { tries: 'int4' },
  sql: `INSERT INTO erasure_waits (run_id, store, since, tried_at) VALUES ($runId, $store, $now, $now)
    ON CONFLICT (run_id, store) DO UPDATE SET tries = erasure_waits.tries + 1, tried_at = excluded.tried_at, refusal = NULL RETURNING tries`,
})

/** Returns a row when a run waits for a store that another run tried since `triedAfter`, behind at least `max` others. */
export const waitBehindOthers = statement('erasure.wait-behind-others', {
  takes: { runId: 'text', store: 'text?', triedAfter: 'timestamptz', max: 'int4' },
  returns: { store: 'text' },
  isPrepared: true,
  sql: `SELECT w.store FROM erasure_waits w WHERE w.run_id = $runId AND ($store IS NULL OR w.store = $store)
      AND EXISTS (SELECT FROM erasure_waits o WHERE o.store = w.store AND o.run_id <> w.run_id AND o.tried_at > $triedAfter AND o.refusal IS NULL)
      AND (SELECT count(*) FROM (SELECT FROM erasure_waits o WHERE o.store = w.store AND o.refusal IS NULL
        AND (o.since, o.run_id) < (w.since, w.run_id) LIMIT $max) AS first) >= $max
    LIMIT 1`,
})

/** Marks waits that began before `before` as notified. Returns those that were not. */
export const markAlertedWaits = statement('erasure.mark-alerted-waits', {
  takes: { now: 'timestamptz', before: 'timestamptz' },
  returns: { store: 'text', since: 'timestamptz', refusal: typed<StoreRefusal | null>('text?') },
  sql: 'UPDATE erasure_waits SET alerted_at = $now WHERE alerted_at IS NULL AND since <= $before RETURNING store, since, refusal',
})

/** Stores for which admins were notified that runs wait, with the number of runs and the earliest time. */
export const waitingStores = statement('erasure.waiting-stores', {
  takes: {},
  returns: { store: 'text', runs: 'int4', since: 'timestamptz!', isRefusing: 'bool!' },
  isPrepared: true,
  sql: `SELECT store, count(*)::int AS runs, min(since) AS since, bool_or(refusal IS NOT NULL) AS "isRefusing"
    FROM erasure_waits WHERE alerted_at IS NOT NULL GROUP BY store ORDER BY store`,
})

// Runs

/** The keys of jobs that wait or run. The queue itself retries the jobs of a dead worker. */
export const queuedJobKeys = statement('erasure.queued-job-keys', {
  takes: { names: 'text[]' },
  returns: { key: 'text' },
  isPrepared: true,
  sql: `SELECT key FROM graphile_worker.jobs WHERE task_identifier = ANY($names) AND key IS NOT NULL
    AND (locked_at IS NOT NULL OR attempts < max_attempts)`,
})

const openStates = ['planning', 'erasing', 'verifying', 'held', 'failed'] as const satisfies readonly RunState[]
/** The number of runs by state, and of runs that an admin has to look at. */
export const openRunCounts = statement('erasure.open-run-counts', {
  takes: {},
  returns: { planning: 'int4', erasing: 'int4', verifying: 'int4', held: 'int4', failed: 'int4', stuck: 'int4' },
  isPrepared: true,
  sql: `SELECT ${openStates.map((state) => `count(*) FILTER (WHERE state = '${state}')::int AS ${state}`).join(', ')},
      count(*) FILTER (WHERE EXISTS (SELECT FROM erasure_steps s WHERE s.run_id = r.id AND s.state = 'stuck')
        OR (state IN ('planning', 'verifying') AND fault <> 'unavailable'))::int AS stuck
    FROM erasure_runs r WHERE state <> 'done'`,
})

/** Unfinished runs that failed or keep failing, of a part of these projects, of this account, or of only these agents. */
export const failingRuns = statement('erasure.failing-runs', {
  takes: { except: 'text', projects: 'text[]', account: 'text?', agents: 'text[]' },
  returns: { id: 'text', partKind: 'text?', partId: 'text?', projectId: 'text?', conversationId: 'text?' },
  isPrepared: true,
  sql: `SELECT id, part_kind AS "partKind", part_id AS "partId", project_id AS "projectId", conversation_id AS "conversationId"
    FROM erasure_runs r WHERE id <> $except AND state IN ('planning', 'erasing', 'failed')
      AND CASE WHEN part_kind IS NOT NULL THEN project_id = ANY($projects)
        ELSE account_id = $account OR (account_id IS NULL AND cardinality(agents) > 0 AND agents <@ $agents) END
      AND (state = 'failed' OR (state = 'planning' AND fault IS NOT NULL)
        OR EXISTS (SELECT FROM erasure_steps s WHERE s.run_id = r.id AND (s.state = 'stuck' OR s.attempts > 0)))`,
})
