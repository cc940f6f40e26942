import type { Context, Transaction } from '#lib/kernel/context.ts'
import { newId, uuidsInSql } from '#lib/kernel/ids.ts'
import { decodeCursor, pageOf } from '#lib/kernel/pages.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { listLeaders, readReputation } from './contract.ts'
import {
  anonymizeGains,
  awardGains,
  countLeaders,
  countLeadersBefore,
  countLedger,
  deleteGains,
  leadersPage,
  ledgerPage,
  lockReputationDay,
  lockReputations,
  lockReputationsBySubject,
  reputationOf,
  withdrawGains,
  withdrawVoteGains,
} from './repository.ts'
import { erasedSubject, fullFrom, gains, type ReputationReason, roomFor } from './rules.ts'

/** Values that `awardOne` needs besides the caller's: `gain`, `reason`, `entry`, `full` and `uuids`. */
export const awardValues = (reason: Exclude<ReputationReason, 'vote'>): [number, string, string, number, string] => [
  gains[reason],
  reason,
  newId('rep'),
  fullFrom(reason).all,
  uuidsInSql.value(),
]

/**
 * Awards one gain per subject, in order, until the daily cap is reached; a subject is awarded once per reason. Do not call it for
 * quarantined or imported records. The agent's row stays locked until the transaction ends, so call it last. Returns the number of gains.
 */
export async function award(
  tx: Transaction,
  agent: string,
  reason: ReputationReason,
  subjectIds: readonly string[],
  now: Date,
): Promise<number> {
  const subjects = [...new Set(subjectIds)]
  if (subjects.length === 0) return 0
  const full = fullFrom(reason)
  const [day] = await lockReputationDay(tx, { agent, now, fullAll: full.all, fullVotes: full.votes })
  const room = day ? roomFor(reason, day) : 0
  if (room === 0) return 0
  const [given] = await awardGains(tx, {
    agent,
    now,
    gain: gains[reason],
    reason,
    subjects,
    entries: subjects.map(() => newId('rep')),
    room,
    isVote: reason === 'vote',
    uuids: uuidsInSql.value(),
  })
  return given?.n ?? 0
}

/**
 * Revokes all reputation gained by erased units or skills: deletes the ledger rows and lowers the scores. Revoked gains cannot be earned
 * again on the same day. Returns the number of deleted rows.
 */
export async function withdraw(tx: Transaction, subjects: readonly string[], now: Date): Promise<number> {
  await lockReputationsBySubject(tx, { subjects })
  const [row] = await withdrawGains(tx, { subjects, now, uuids: uuidsInSql.value() })
  return row?.n ?? 0
}

/**
 * Keeps what other agents gained by records of an erased author: their ledger rows remain without naming the record. Deletes the gains of
 * the given agents themselves. Needs no lock on reputations, because no remaining score changes.
 */
export async function storeGains(
  tx: Transaction,
  subjects: readonly string[],
  agents: readonly string[],
): Promise<void> {
  await deleteGains(tx, { subjects, agents })
  await anonymizeGains(tx, { subjects })
}

/** Revokes what agents gained by votes that no longer count. */
export async function withdrawVotes(
  tx: Transaction,
  votes: readonly { subjectId: string; agentId: string }[],
  now: Date,
): Promise<void> {
  if (votes.length === 0) return
  const [subjects, agents] = [votes.map(({ subjectId }) => subjectId), votes.map(({ agentId }) => agentId)]
  await lockReputations(tx, { agents })
  await withdrawVoteGains(tx, { subjects, agents, now, uuids: uuidsInSql.value() })
}

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
              at,
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
