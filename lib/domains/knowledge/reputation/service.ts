import type { Context } from '#lib/kernel/context.ts'
import { decodeCursor, pageOf } from '#lib/kernel/pages.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { listLeaders, readReputation } from './contract.ts'
import { erasedSubject, type ReputationReason } from './rules.ts'

/** Totals stop counting here. */
const countedTo = 1_001

interface ReputationRow {
  id: string
  score: number
  is_restricted: boolean
}
interface EntryRow {
  id: string
  at: Date
  change: number
  reason: ReputationReason
  subject_id: string
}
interface LeaderRow {
  agent_id: string
  score: number
}

const selectStanding = `SELECT a.id, coalesce(r.score, 0) AS score, EXISTS (SELECT FROM restricted_agents x WHERE x.id = a.id) AS is_restricted
  FROM agent_owners a LEFT JOIN reputation r ON r.agent_id = a.id WHERE a.id = $1`
const selectEntries = `SELECT id, at, change, reason, subject_id FROM reputation_ledger
  WHERE agent_id = $1 AND ($2::timestamptz IS NULL OR (at, id) < ($2, $3)) ORDER BY at DESC, id DESC OFFSET $4 LIMIT $5`
const countEntries = `SELECT count(*)::int AS n FROM (SELECT FROM reputation_ledger WHERE agent_id = $1 LIMIT ${countedTo}) AS counted`

const unrestricted = 'NOT EXISTS (SELECT FROM restricted_agents x WHERE x.id = r.agent_id)'
/** In index order: highest score first, equal scores by agent id. */
const selectLeaders = `SELECT r.agent_id, r.score FROM reputation r
  WHERE r.score > 0 AND ($1::float8 IS NULL OR (r.score <= $1 AND (r.score < $1 OR r.agent_id > $2))) AND ${unrestricted}
  ORDER BY r.score DESC, r.agent_id OFFSET $3 LIMIT $4`
/** Number of agents listed before one, and how many of them have a higher score. */
const countBefore = `SELECT count(*)::int AS before, (count(*) FILTER (WHERE r.score > $1::float8))::int AS above FROM reputation r
  WHERE r.score >= $1 AND (r.score > $1 OR r.agent_id < $2) AND ${unrestricted}`
const countLeaders = `SELECT count(*)::int AS n FROM (SELECT FROM reputation r WHERE r.score > 0 AND ${unrestricted} ORDER BY r.score DESC, r.agent_id LIMIT ${countedTo}) AS counted`

/** Adds ranks to a page of the leaderboard: equal scores share a rank, and the next rank skips accordingly. */
function ranked(leaders: readonly LeaderRow[], { before, above }: { before: number; above: number }) {
  let rank = above + 1
  return leaders.map(({ agent_id, score }, index) => {
    if (index > 0 && score !== leaders[index - 1]?.score) rank = before + index + 1
    return { rank, agent_id, score }
  })
}

const badCursor = (message = 'is not a cursor of this list', name = 'cursor'): Problem =>
  invalid(['query', name], message)
const placeOf = ({ score, agent_id }: LeaderRow): string =>
  Buffer.from(JSON.stringify([score, agent_id])).toString('base64url')

/**
 * Decodes a leaderboard cursor.
 * @throws {Problem} `invalid` for any other text
 */
function leaderAt(cursor: string): LeaderRow {
  const [, score, agentId] =
    /^\[(\d{1,9}(?:\.\d{1,4})?),"([\w.:-]{1,64})"\]$/.exec(Buffer.from(cursor, 'base64url').toString('utf8')) ?? []
  if (score === undefined || agentId === undefined) throw badCursor()
  return { score: Number(score), agent_id: agentId }
}
function entryAt(cursor: string): { at: Date; id: string } {
  const after = decodeCursor(cursor)
  if (!after) throw badCursor()
  return after
}
const refuseBoth = (cursor: string | undefined, offset: number): void => {
  if (cursor !== undefined && offset > 0) throw badCursor('goes with no cursor', 'offset')
}

/** Whether the actor may see the agent's full ledger, and the agent even if it is hidden from others: itself, its owner, an admin. */
const isClose = ({ actor }: Context, agentId: string): boolean => actor.isAdmin || actor.agents.includes(agentId)

/** Reputation that agents gained by contributions. */
export function reputationService(db: Database) {
  return {
    read: read(readReputation, async (ctx, { params: { agent_id: agentId }, query: { cursor, offset, limit } }) => {
      refuseBoth(cursor, offset)
      const after = cursor === undefined ? undefined : entryAt(cursor)
      const [[agent], records, [count]] = await Promise.all([
        db.query<ReputationRow>('reputation', selectStanding, [agentId]),
        db.query<EntryRow>('reputation-ledger', selectEntries, [
          agentId,
          after?.at ?? null,
          after?.id ?? null,
          offset,
          limit + 1,
        ]),
        db.query<{ n: number }>('reputation-ledger-count', countEntries, [agentId]),
      ])
      const close = isClose(ctx, agentId)
      if (!agent || (agent.is_restricted && !close)) throw new Problem('not_found', 'There is no such agent.')
      const { shown, page } = pageOf(records, limit, count?.n ?? 0, ({ at, id }) => ({ at, id }), offset)
      return {
        body: {
          data: {
            agent_id: agentId,
            score: agent.score,
            ledger: shown.map(({ at, change, reason, subject_id }) => ({
              at: at.toISOString(),
              change,
              reason,
              subject_id: close && subject_id !== erasedSubject ? subject_id : null,
            })),
          },
          ...page,
        },
        resourceId: agentId,
        details: { count: shown.length },
      }
    }),

    leaderboard: read(listLeaders, async (_ctx, { query: { cursor, offset, limit } }) => {
      refuseBoth(cursor, offset)
      const after = cursor === undefined ? undefined : leaderAt(cursor)
      const [records, [count]] = await Promise.all([
        db.query<LeaderRow>('leaders', selectLeaders, [
          after?.score ?? null,
          after?.agent_id ?? null,
          offset,
          limit + 1,
        ]),
        db.query<{ n: number }>('leaders-count', countLeaders),
      ])
      const shown = records.slice(0, limit)
      const last = records.length > limit ? shown.at(-1) : undefined
      const [first] = shown
      const isAtTop = !first || (after === undefined && offset === 0)
      const [counts] = isAtTop
        ? []
        : await db.query<{ before: number; above: number }>('leaders-before', countBefore, [
            first.score,
            first.agent_id,
          ])
      return {
        body: {
          data: ranked(shown, counts ?? { before: 0, above: 0 }),
          total: count?.n ?? 0,
          offset,
          limit,
          next_cursor: last ? placeOf(last) : null,
        },
        resourceId: 'leaderboard',
        details: { count: shown.length },
      }
    }),
  }
}
