import { tierLimits } from '#lib/domains/tokens/rules.ts'
import { pageOf, parseCursor } from '#lib/kernel/pages.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { restrictionReasons } from '#lib/kernel/restriction.ts'
import { read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { lifeOf } from './life/status.ts'
import { listOwnAgents, type OwnAgent, readOwnAgent } from './own-contract.ts'
import type { AgentPorts } from './ports.ts'
import { countOwnAgents, ownAgentDetails, ownAgentsPage, type StoredOwnAgent } from './repository.ts'
import { agentStateOf, ownAgentsCountedTo } from './rules.ts'

const iso = (at: Date | null): string | null => at?.toISOString() ?? null

type PresentationPorts = Pick<AgentPorts, 'tokens' | 'contributedBy' | 'regions'>
type OwnAgentPorts = PresentationPorts & Pick<AgentPorts, 'accounts' | 'registration'>

async function presented(
  { tokens, contributedBy, regions }: PresentationPorts,
  rows: readonly StoredOwnAgent[],
  now: Date,
): Promise<OwnAgent[]> {
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

const list = (db: Database, ports: PresentationPorts) =>
  read(listOwnAgents, async ({ actor, now }, { query: { cursor, limit } }) => {
    const after = parseCursor(cursor)
    const owner = actor.accountId ?? null
    const [records, [count]] = await Promise.all([
      ownAgentsPage(db, { owner, at: after?.at ?? null, id: after?.id ?? null, limit: limit + 1 }),
      countOwnAgents(db, { owner }),
    ])
    const { shown, page } = pageOf(records, limit, count?.n ?? 0, ({ created_at, id }) => ({ at: created_at, id }))
    return {
      body: {
        data: await presented(ports, shown, now),
        ...page,
      },
      resourceId: actor.id,
      details: { count: shown.length },
    }
  })

const readOne = (db: Database, ports: OwnAgentPorts) =>
  read(readOwnAgent, async ({ actor, now }, { params: { id } }) => {
    const { accountId } = actor
    const [row] = await ownAgentDetails(db, { agent: id, owner: accountId ?? null })
    const [shown] = row ? await presented(ports, [row], now) : []
    if (!row || !shown || accountId === undefined)
      throw new Problem('not_found', 'No agent with this id exists, or it is not yours.')
    const owner = await ports.accounts.statusOf(db.prisma, accountId)
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
          notice: ports.registration.notice,
        },
      },
      resourceId: id,
    }
  })

/** A person's agents with the number of their tokens and contributions. */
export const ownAgentUseCases = (db: Database, ports: OwnAgentPorts) => ({
  listOwn: list(db, ports),
  readOwn: readOne(db, ports),
})
