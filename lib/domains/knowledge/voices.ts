import { createHmac } from 'node:crypto'
import { networkOf } from './network.ts'
import { ageToCount } from './rules.ts'

/**
 * For whom somebody speaks who reports or votes, as of now: the person behind it, so that who claimed two agents afterwards is one; an
 * agent that nobody claimed stands for its network. `row` has `network` and `owner_key`, `who` is who speaks, `agent` the row of
 * `agent_owners`, if it is one.
 */
export const voiceSql = (row: string, who: string, agent: string): string => `CASE
  WHEN ${who} LIKE 'user:%' THEN ${who}
  WHEN ${agent}.owner_id IS NOT NULL THEN 'user:' || ${agent}.owner_id
  ELSE 'network:' || encode(coalesce(${row}.network, convert_to(${row}.owner_key, 'UTF8')), 'hex') END`

/** Whether it is heard yet: a person at once, an agent that nobody claimed from its second day on. `oldEnough` is {@link bornBefore}. */
export const isHeardSql = (who: string, agent: string, oldEnough: string): string =>
  `(${who} LIKE 'user:%' OR ${agent}.owner_id IS NOT NULL OR ${agent}.created_at <= ${oldEnough}::timestamptz)`
export const bornBefore = (now: Date): Date => new Date(now.getTime() - ageToCount)

/** What is kept of a client's address: a keyed hash of its network. */
export const hashedNetwork = (ip: string, key: Uint8Array) => createHmac('sha256', key).update(networkOf(ip)).digest()
