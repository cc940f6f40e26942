import type { Context } from '#lib/kernel/context.ts'
import { decodeCursor, pageOf } from '#lib/kernel/pages.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { listLeaders, readReputation } from './contract.ts'
import { countLeaders, countLeadersBefore, countLedger, leadersPage, ledgerPage, reputationOf } from './repository.ts'
import { erasedSubject } from './rules.ts'

interface Leader {
  agent_id: string
  score: number
}

/** Adds ranks to a page of the leaderboard: equal scores share a rank, and the next rank skips accordingly. */
function ranked(leaders: readonly Leader[], { before, above }: { before: number; above: number }) {
  let rank = above + 1
  return leaders.map(({ agent_id, score }, index) => {
    if (index > 0 && score !== leaders[index - 1]?.score) rank = before + index + 1
    return { rank, agent_id, score }
  })
}

const badCursor = (message = 'is not a cursor of this list', name = 'cursor'): Problem =>
  invalid(['query', name], message)
const placeOf = ({ score, agent_id }: Leader): string =>
  Buffer.from(JSON.stringify([score, agent_id])).toString('base64url')

/**
 * Decodes a leaderboard cursor.
 * @throws {Problem} `invalid` for any other text
 */
function leaderAt(cursor: string): Leader {
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
  if (cursor !== undefined && offset > 0) throw badCursor('cannot be combined with a cursor', 'offset')
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
        reputationOf(db, { agent: agentId }),
        ledgerPage(db, { agent: agentId, at: after?.at ?? null, id: after?.id ?? null, offset, limit: limit + 1 }),
        countLedger(db, { agent: agentId }),
      ])
      const close = isClose(ctx, agentId)
      if (!agent || (agent.is_restricted && !close)) throw new Problem('not_found', 'No agent with this id exists.')
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
        leadersPage(db, { score: after?.score ?? null, agent: after?.agent_id ?? null, offset, limit: limit + 1 }),
        countLeaders(db, {}),
      ])
      const shown = records.slice(0, limit)
      const last = records.length > limit ? shown.at(-1) : undefined
      const [first] = shown
      const isAtTop = !first || (after === undefined && offset === 0)
      const [counts] = isAtTop ? [] : await countLeadersBefore(db, { score: first.score, agent: first.agent_id })
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
