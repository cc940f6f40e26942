import { createHmac } from 'node:crypto'
import { clientNetworkOf } from '#lib/kernel/network-keys.ts'
import { ageToCount } from '../rules.ts'

/**
 * Who a reporter or voter counts as, currently: the person who owns the agent, so that a person with two claimed agents counts once; an
 * unclaimed agent counts as its network. `row` has `network` and `owner_key`, `who` is the actor, `agent` its row of `agent_owners`, if
 * any.
 */
export const voteIdentitySql = (row: string, who: string, agent: string): string => `CASE
  WHEN ${who} LIKE 'user:%' THEN ${who}
  WHEN ${agent}.owner_id IS NOT NULL THEN 'user:' || ${agent}.owner_id
  ELSE 'network:' || encode(coalesce(${row}.network, convert_to(${row}.owner_key, 'UTF8')), 'hex') END`

/**
 * Whether the report or vote counts yet: a person's immediately, an unclaimed agent's from its second day. `oldEnough` is {@link
 * bornBefore}.
 */
export const isHeardSql = (who: string, agent: string, oldEnough: string): string =>
  `(${who} LIKE 'user:%' OR ${agent}.owner_id IS NOT NULL OR ${agent}.created_at <= ${oldEnough}::timestamptz)`
export const bornBefore = (now: Date): Date => new Date(now.getTime() - ageToCount)

/** Keyed hash of a client's network; the address itself is not stored. */
export const hashedNetwork = (ip: string, key: Uint8Array) =>
  createHmac('sha256', key).update(clientNetworkOf(ip)).digest()
