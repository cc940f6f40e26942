import { createHmac } from 'node:crypto'
import { isIPv4, isIPv6 } from 'node:net'
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

/** The eight groups of an IPv6 address as numbers. */
function groupsOf(address: string): number[] {
  const [head = '', tail] = address.split('::')
  const parse = (part: string) => (part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16)))
  const first = parse(head)
  if (tail === undefined) return first
  const last = parse(tail)
  return [...first, ...Array<number>(Math.max(0, 8 - first.length - last.length)).fill(0), ...last]
}

/**
 * The network that one client controls: an IPv4 address, or the /48 of an IPv6 address, the usual assignment to one customer (RFC 6177).
 * IPv4-mapped IPv6 addresses become IPv4. Any other text is returned unchanged.
 */
export function networkOf(address: string): string {
  const bare = address.split('%', 1)[0] ?? ''
  const inside = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(bare)?.[1] ?? bare
  if (isIPv4(inside)) return inside
  if (!isIPv6(bare)) return address
  return `${groupsOf(bare)
    .slice(0, 3)
    .map((group) => group.toString(16))
    .join(':')}::/48`
}

/** Keyed hash of a client's network; the address itself is not stored. */
export const hashedNetwork = (ip: string, key: Uint8Array) => createHmac('sha256', key).update(networkOf(ip)).digest()
