import { type TierName, tierLimits } from '#lib/domains/tokens/rules.ts'
import { pageOf, parseCursor } from '#lib/kernel/pages.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { restrictionReasons } from '#lib/kernel/restriction.ts'
import { read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { AgentStatus } from './life/rules.ts'
import { lifeOf } from './life/status.ts'
import { listOwnAgents, type OwnAgent, readOwnAgent } from './own-contract.ts'
import type { AgentPorts } from './ports.ts'
import { agentStateOf, ownAgentsCountedTo } from './rules.ts'

interface OwnRow {
  id: string
  name: string | null
  tier: TierName
  created_at: Date
  restricted_at: Date | null
  restricted_for: string[]
  suspended_at: Date | null
  is_fenced: boolean
  status: AgentStatus
  status_at: Date | null
  died_at: Date | null
  region: string | null
  self_hosted: boolean
  has_keyring: boolean
}
interface WholeRow extends OwnRow {
  lawful_basis: string
  notice_version: string
  consent_at: Date | null
  consent_via: string | null
  consent_withdrawn_at: Date | null
  first_used_at: Date | null
}
const ownColumns = `a.id, a.name, a.tier, a.created_at, a.restricted_at, a.restricted_for, a.suspended_at,
  a.status, a.status_at, a.died_at, a.region, a.self_hosted, EXISTS (SELECT FROM agent_keyrings k WHERE k.agent_id = a.id) AS has_keyring,
  EXISTS (SELECT FROM fenced f WHERE f.kind = 'agent' AND f.id = a.id) AS is_fenced`
const selectPage = `SELECT ${ownColumns} FROM agents a
  WHERE a.owner_id = $1 AND ($2::timestamptz IS NULL OR (a.created_at, a.id) < ($2, $3))
  ORDER BY a.created_at DESC, a.id DESC LIMIT $4`
const selectOne = `SELECT ${ownColumns}, a.lawful_basis, a.notice_version, a.consent_at, a.consent_via, a.consent_withdrawn_at, a.first_used_at
  FROM agents a WHERE a.id = $1 AND a.owner_id = $2`

const iso = (at: Date | null): string | null => at?.toISOString() ?? null

/** A person's agents with the number of their tokens and contributions. */
export function ownAgentUseCases(
  db: Database,
  {
    tokens,
    contributedBy,
    accounts,
    registration,
    regions,
  }: Pick<AgentPorts, 'tokens' | 'contributedBy' | 'accounts' | 'registration' | 'regions'>,
) {
  async function presented(rows: readonly OwnRow[], now: Date): Promise<OwnAgent[]> {
    const ids = rows.map(({ id }) => id)
    const [contributed, inUse] = await Promise.all([contributedBy(ids, ownAgentsCountedTo), tokens.inUse(ids, now)])
    return rows.map((row) => {
      const { units = 0, skills = 0, reputation = 0 } = contributed.get(row.id) ?? {}
      return {
        agent_id: row.id,
        name: row.name,
        tier: row.tier,
        created_at: row.created_at.toISOString(),
        ...lifeOf(regions, {
          status: row.status,
          statusAt: row.status_at,
          diedAt: row.died_at,
          region: row.region,
          selfHosted: row.self_hosted,
          hasKeyring: row.has_keyring,
        }),
        state: agentStateOf({
          restrictedAt: row.restricted_at,
          suspendedAt: row.suspended_at,
          isFenced: row.is_fenced,
        }),
        restricted_at: iso(row.restricted_at),
        restricted_for: restrictionReasons.filter((reason) => row.restricted_for.includes(reason)),
        holds: { units, skills, tokens: inUse.get(row.id) ?? 0, reputation },
        token_limit: tierLimits[row.tier].tokens,
      }
    })
  }

  return {
    listOwn: read(listOwnAgents, async ({ actor, now }, { query: { cursor, limit } }) => {
      const after = parseCursor(cursor)
      const [records, [count]] = await Promise.all([
        db.query<OwnRow>('agent-own-page', selectPage, [
          actor.accountId,
          after?.at ?? null,
          after?.id ?? null,
          limit + 1,
        ]),
        db.query<{ n: number }>('agent-own-count', 'SELECT count(*)::int AS n FROM agents WHERE owner_id = $1', [
          actor.accountId,
        ]),
      ])
      const { shown, page } = pageOf(records, limit, count?.n ?? 0, ({ created_at, id }) => ({ at: created_at, id }))
      return {
        body: {
          data: await presented(shown, now),
          ...page,
        },
        resourceId: actor.id,
        details: { count: shown.length },
      }
    }),

    readOwn: read(readOwnAgent, async ({ actor, now }, { params: { id } }) => {
      const { accountId } = actor
      const [row] = await db.query<WholeRow>('agent-own', selectOne, [id, accountId])
      const [shown] = row ? await presented([row], now) : []
      if (!row || !shown || accountId === undefined)
        throw new Problem('not_found', 'There is no such agent, or it is not yours.')
      const owner = await accounts.statusOf(db.prisma, accountId)
      return {
        body: {
          data: {
            ...shown,
            first_used_at: iso(row.first_used_at),
            is_paused_with_all: owner?.restrictedFor.includes('request') ?? false,
            consent: {
              lawful_basis: row.lawful_basis,
              policy_version: row.notice_version,
              given_at: iso(row.consent_at),
              via: row.consent_via,
              withdrawn_at: iso(row.consent_withdrawn_at),
            },
            notice: registration.notice,
          },
        },
        resourceId: id,
      }
    }),
  }
}
