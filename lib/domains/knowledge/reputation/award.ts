import type { Transaction } from '#lib/kernel/context.ts'
import { newId, uuidsInSql } from '#lib/kernel/ids.ts'
import {
  anonymizeGains,
  awardGains,
  deleteGains,
  lockReputationDay,
  lockReputations,
  lockReputationsBySubject,
  withdrawGains,
  withdrawVoteGains,
} from './repository.ts'
import { fullFrom, gains, type ReputationReason, roomFor } from './rules.ts'

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
