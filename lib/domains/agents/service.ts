import { createHmac } from 'node:crypto'
import { z } from 'zod'
import type { Env } from '#lib/config/env.ts'
import { dropOrganisationIfEmpty } from '#lib/domains/accounts/writes.ts'
import { contributedBy } from '#lib/domains/knowledge/queries.ts'
import { tierLimits } from '#lib/domains/tokens/rules.ts'
import type { Context, Transaction } from '#lib/kernel/context.ts'
import { type EvidenceCheck, endsInTime, failsIf } from '#lib/kernel/evidence.ts'
import { job } from '#lib/kernel/job.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import { pageOf, parseCursor } from '#lib/kernel/pages.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { notePurge } from '#lib/kernel/purging.ts'
import { restrictionReasons } from '#lib/kernel/restriction.ts'
import { guardEndOfAccess, mutation, read } from '#lib/kernel/use-case.ts'
import { agentsUnderLegalHold, lockHolds } from '#lib/stores/postgres/agents-under-legal-hold.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { claimAgent, editAgent, listOwnAgents, type OwnAgent, readOwnAgent } from './contract.ts'
import { type DocumentKeys, documentKeys, sealedTexts } from './life/document-seals.ts'
import { lifeOf } from './life/own-agents.ts'
import { deleteExpiredDocuments, deleteHeartbeatsOfRetired, lockOpenDocuments } from './life/repository.ts'
import { heartbeatsAfterRetirement } from './life/rules.ts'
import { agentLife, documentRestorer, restoreSettings } from './life/service.ts'
import {
  agentDataSource,
  agentExporters,
  agentLifeDataSources,
  lifeExporters,
  retainedAgentRecords,
} from './personal-data.ts'
import type { AgentPorts } from './ports.ts'
import { agentConsent, agentRestriction } from './privacy.ts'
import { agentOf } from './queries.ts'
import { agentCreation, agentInvites, agentRegistration, boundOwnAgents, requireWriter } from './registration.ts'
import {
  countLawfulBases,
  countOwnAgents,
  deleteNetworks,
  deleteOldInvites,
  deleteUnusedAgents,
  ownAgentDetails,
  ownAgentsPage,
  type StoredOwnAgent,
} from './repository.ts'
import {
  agentStateOf,
  edited,
  inviteRetention,
  isReduction,
  type LawfulBasis,
  noticeVersion,
  ownAgentsCountedTo,
  registrationWindow,
  unusedAfter,
} from './rules.ts'
import { agentStatusPorts, sharedAgentStatus } from './status.ts'

const batch = 1_000

/** Clean-up jobs. Registration has no rate limit, so unused agents must be deleted. */
function agentsJobs() {
  /** Deletes a batch of unowned agents that never used a token, together with their tokens. */
  async function removeUnused(ctx: Context, tx: Transaction): Promise<number> {
    const before = new Date(ctx.now.getTime() - unusedAfter)
    await lockHolds(tx)
    const deleted = await deleteUnusedAgents(tx, { before, now: ctx.now, limit: batch })
    for (const id of new Set(deleted.map((row) => row.organisation_id))) await dropOrganisationIfEmpty(tx, id)
    return notePurge(ctx, tx, {
      what: 'agents that never used a token',
      results: { agentsDeleted: deleted.length },
      resourceType: 'agent',
      resourceId: 'unused',
    })
  }

  return [
    job({
      name: 'agents.purge-unused',
      payload: z.unknown(),
      cron: '11 * * * *',
      async run(ctx) {
        while ((await ctx.pipeline.transaction((tx) => removeUnused(ctx, tx))) === batch);
        const before = new Date(ctx.now.getTime() - registrationWindow)
        await ctx.pipeline.transaction((tx) => deleteNetworks(tx, { before }))
      },
    }),
    job({
      name: 'agents.purge-invites',
      payload: z.unknown(),
      cron: '17 3 * * *',
      async run(ctx) {
        const before = new Date(ctx.now.getTime() - inviteRetention)
        while ((await ctx.pipeline.transaction((tx) => deleteOldInvites(tx, { before, limit: batch }))) === batch);
      },
    }),
  ]
}

const heartbeatBatch = 5_000
const documentBatch = 20

/** Deletes a batch of documents that are older than their owner set; those under a legal hold are deleted when it ends. */
async function removeExpiredDocuments(ctx: Context, tx: Transaction): Promise<number> {
  await lockHolds(tx)
  const agentDocumentsDeleted = await deleteExpiredDocuments(tx, { now: ctx.now, limit: batch })
  return notePurge(ctx, tx, {
    what: 'agent documents that expired',
    results: { agentDocumentsDeleted },
    resourceType: 'agent_document',
    resourceId: 'ended',
  })
}

/** Seals a batch of documents that an earlier version stored in plain text. Their content and revision do not change. */
async function sealOpenDocuments(tx: Transaction, keys: DocumentKeys): Promise<number> {
  const documents = await lockOpenDocuments(tx, { limit: documentBatch })
  for (const { id, title, body } of documents)
    await tx.agentDocument.update({ where: { id }, data: sealedTexts(keys, id, { title, body }) })
  return documents.length
}

/** Deletes heartbeats 24 hours after an agent was retired; those under a legal hold are deleted when it ends. */
function lifeJobs(documentKeys: DocumentKeys) {
  async function removeOfDead(ctx: Context, tx: Transaction): Promise<number> {
    const before = new Date(ctx.now.getTime() - heartbeatsAfterRetirement)
    await lockHolds(tx)
    const heartbeatsDeleted = await deleteHeartbeatsOfRetired(tx, { before, now: ctx.now, limit: heartbeatBatch })
    return notePurge(ctx, tx, {
      what: 'heartbeats of agents that died',
      results: { heartbeatsDeleted },
      resourceType: 'heartbeat',
      resourceId: 'of-the-dead',
    })
  }

  return [
    job({
      name: 'agents.purge-heartbeats',
      payload: z.unknown(),
      cron: '*/10 * * * *',
      async run(ctx) {
        while ((await ctx.pipeline.transaction((tx) => removeOfDead(ctx, tx))) === heartbeatBatch);
      },
    }),
    job({
      name: 'agents.purge-documents',
      payload: z.unknown(),
      cron: '29 * * * *',
      async run(ctx) {
        while ((await ctx.pipeline.transaction((tx) => removeExpiredDocuments(ctx, tx))) === batch);
      },
    }),
    job({
      name: 'agents.seal-documents',
      payload: z.unknown(),
      cron: '*/5 * * * *',
      async run(ctx) {
        while ((await ctx.pipeline.transaction((tx) => sealOpenDocuments(tx, documentKeys))) === documentBatch);
      },
    }),
  ]
}

async function presented(
  db: Database,
  { tokens, regions }: AgentPorts,
  rows: readonly StoredOwnAgent[],
  now: Date,
): Promise<z.input<typeof OwnAgent>[]> {
  const ids = rows.map(({ id }) => id)
  const [contributed, inUse] = await Promise.all([contributedBy(db, ids, ownAgentsCountedTo), tokens.inUse(ids, now)])
  return rows.map((row) => {
    const { units = 0, skills = 0, reputation = 0 } = contributed.get(row.id) ?? {}
    return {
      agent_id: row.id,
      name: row.name,
      tier: row.tier,
      created_at: row.created_at,
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
      restricted_at: row.restricted_at,
      restricted_for: restrictionReasons.filter((reason) => row.restricted_for.includes(reason)),
      holds: { units, skills, tokens: inUse.get(row.id) ?? 0, reputation },
      token_limit: tierLimits[row.tier].tokens,
    }
  })
}

const list = (db: Database, ports: AgentPorts) =>
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
        data: await presented(db, ports, shown, now),
        ...page,
      },
      resourceId: actor.id,
      details: { count: shown.length },
    }
  })

const readOne = (db: Database, ports: AgentPorts) =>
  read(readOwnAgent, async ({ actor, now }, { params: { id } }) => {
    const { accountId } = actor
    const [row] = await ownAgentDetails(db, { agent: id, owner: accountId ?? null })
    const [shown] = row ? await presented(db, ports, [row], now) : []
    if (!row || !shown || accountId === undefined)
      throw new Problem('not_found', 'No agent with this id exists, or it is not yours.')
    const owner = await ports.accounts.statusOf(db.prisma, accountId)
    return {
      body: {
        data: {
          ...shown,
          first_used_at: row.first_used_at,
          is_paused_with_all: owner?.restrictedFor.includes('request') ?? false,
          consent: {
            lawful_basis: row.lawful_basis,
            policy_version: row.notice_version,
            given_at: row.consent_at,
            via: row.consent_via,
            withdrawn_at: row.consent_withdrawn_at,
          },
          notice: ports.registration.notice,
        },
      },
      resourceId: id,
    }
  })

/** A person's agents with the number of their tokens and contributions. */
const ownAgentUseCases = (db: Database, ports: AgentPorts) => ({
  listOwn: list(db, ports),
  readOwn: readOne(db, ports),
})

/** Claiming: a person becomes the owner of an agent by presenting its token. */
function agentOwnership({
  tokens,
  ownerFound,
  ...owners
}: Pick<AgentPorts, 'tokens' | 'ownerFound' | 'accounts' | 'graceTokens'>) {
  return {
    claim: mutation(claimAgent, async (ctx, { body }) => {
      const { tx, actor, now } = ctx
      const { accountId, organisationId } = actor
      if (accountId === undefined || organisationId === undefined) throw new Problem('sign_in_needed')
      requireWriter(ctx)
      const bearer = await tokens.bearerOf(tx, body.token, now)
      const agent = bearer && (await agentOf(tx, bearer.agentId, { lock: true }))
      // Unknown, mistyped, expired, revoked and suspended tokens get the same answer, so that guessing reveals nothing.
      if (!agent || agent.suspendedAt)
        throw new Problem('not_found', 'No agent has this token. Check that the token is complete and still valid.')
      const done = (changed: boolean) => ({
        body: { data: { agent_id: agent.id, name: agent.name } },
        resourceId: agent.id,
        details: { fields: changed ? ['owner', 'organisation'] : [] },
      })
      if (agent.ownerId === accountId) return done(false)
      if (agent.ownerId !== null) throw new Problem('conflict', 'Another person already owns this agent.')
      const lacking = (await tokens.scopesInUse(tx, agent.id, now)).find((scope) => !bearer.scopes.includes(scope))
      if (lacking)
        throw new Problem(
          'forbidden',
          `This token lacks the scope "${lacking}", which another token of this agent has. Claim the agent with that token.`,
        )
      if (agent.tier === 'free') await boundOwnAgents(tx, accountId)
      // The agent's contributions follow by their foreign key.
      await tx.agent.update({
        where: { id: agent.id },
        data: {
          ownerId: accountId,
          organisationId,
          network: null,
          sharesWindow: false,
          ...(await sharedAgentStatus(tx, owners, accountId, agent, now)),
        },
      })
      await ownerFound(tx, agent.id, accountId, now)
      if (agent.organisationId !== organisationId) await dropOrganisationIfEmpty(tx, agent.organisationId)
      return done(true)
    }),
  }
}

/** Agents: registration, ownership, consent, restriction and limits. */
export function agentsService(db: Database, ports: AgentPorts) {
  const status = agentStatusPorts(ports)
  return {
    ...status,
    ...agentRestriction(db, ports.accounts, status),
    ...agentRegistration(ports),
    ...agentConsent(ports.registration.notice),
    ...agentInvites(),
    ...agentOwnership(ports),
    ...ownAgentUseCases(db, ports),
    ...agentCreation(ports),
    ...agentLife({ ...ports, db }),

    edit: mutation(editAgent, async (ctx, { params, body }) => {
      const { tx } = ctx
      const agent = await agentOf(tx, params.id, { lock: true })
      if (!agent) throw new Problem('not_found', 'No agent with this id exists.')
      const data = edited(agent, body)
      if (!data) throw invalid(['limits'], 'is available only for the tier enterprise')
      guardEndOfAccess(ctx, isReduction(agent, data), 'lower the tier or the limits of an agent')
      const next = await tx.agent.update({ where: { id: agent.id }, data })
      return {
        body: {
          data: {
            agent_id: next.id,
            name: next.name,
            tier: next.tier,
            limits: { reads_per_minute: next.readsPerMinute, writes_per_minute: next.writesPerMinute },
            owner_claimed: next.ownerId !== null,
            created_at: next.createdAt,
            restricted_at: next.restrictedAt,
          },
        },
        resourceId: next.id,
        details: { fields: Object.keys(body), from: agent.tier, to: next.tier },
      }
    }),
  }
}

export const agentsData = ({ db, keyFor }: Pick<AgentsModuleParts, 'db' | 'keyFor'>): PersonalData => ({
  dataSources: [...agentLifeDataSources(db), agentDataSource(db)],
  exporters: [...agentExporters(db), ...lifeExporters(db, documentKeys(keyFor))],
  retainedRecords: retainedAgentRecords(db),
})

/** Heartbeats of retired agents, counted by agent, and expired documents; records under a legal hold are not overdue. */
export const lifeEvidence = (): EvidenceCheck[] => [
  endsInTime(
    'agents.heartbeats',
    `SELECT a.died_at + interval '24 hours' AS ends FROM agents a
     WHERE a.died_at IS NOT NULL AND a.id NOT IN (${agentsUnderLegalHold('$1')}) AND EXISTS (SELECT FROM heartbeats h WHERE h.agent_id = a.id)`,
  ),
  endsInTime(
    'agents.documents',
    `SELECT d.updated_at + make_interval(days => a.document_days) AS ends FROM agents a JOIN agent_documents d ON d.agent_id = a.id
     WHERE a.document_days IS NOT NULL AND a.id NOT IN (${agentsUnderLegalHold('$1')})`,
  ),
]

/**
 * Lawful basis (GDPR art. 6, 7): each agent has one on record, with consent where the basis is consent. Agents that withdrew it are
 * restricted.
 */
const agentsEvidence = (configured: LawfulBasis): EvidenceCheck[] => [
  {
    line: 'lawful_basis',
    name: 'agents.basis',
    page: null,
    async ask(query) {
      const [counts] = await countLawfulBases(query, {})
      const { agents = 0, without = 0, unconsented = 0, withdrawn = 0, unrestricted = 0 } = counts ?? {}
      return {
        state: failsIf(without + unconsented + unrestricted > 0),
        numbers: { agents, without, unconsented, withdrawn, unrestricted },
        facts: { basis: configured },
      }
    },
  },
]

/** What agents take from the platform by name, and what other modules give them. */
interface AgentsModuleParts extends Pick<AgentPorts, 'accounts' | 'ownerFound' | 'regions' | 'strict' | 'tokens'> {
  db: Database
  env: Pick<Env, 'KP_EXPLICIT_CONSENT' | 'KP_GRACE_TOKENS' | 'KP_LAWFUL_BASIS' | 'KP_REGISTRATION'>
  keyFor(purpose: string): () => Uint8Array
  origin: string
  networks: { customerNetworkOf(address: string): string }
  suppressed: { among: AgentPorts['isSuppressed'] }
}

/** Agents with their documents, heartbeats and chain references. */
export function agentsModule({ env, keyFor, networks, origin, suppressed, ...parts }: AgentsModuleParts) {
  const networkKey = keyFor('networks of registrations')
  const deps = {
    ...parts,
    documentKeys: documentKeys(keyFor),
    graceTokens: env.KP_GRACE_TOKENS,
    isSuppressed: suppressed.among,
    registration: {
      mode: env.KP_REGISTRATION,
      explicitConsent: env.KP_EXPLICIT_CONSENT,
      lawfulBasis: env.KP_LAWFUL_BASIS,
      notice: { version: noticeVersion, url: `${origin}/privacy` },
    },
    networkMark: (address: string) =>
      Uint8Array.from(createHmac('sha256', networkKey()).update(networks.customerNetworkOf(address)).digest()),
  }
  return {
    useCases: { agents: agentsService(parts.db, deps) },
    jobs: [...agentsJobs(), ...lifeJobs(deps.documentKeys)],
    checks: [...agentsEvidence(env.KP_LAWFUL_BASIS), ...lifeEvidence()],
    /** What snapshots contain and restore of an agent. */
    state: {
      exporters: lifeExporters(parts.db, deps.documentKeys),
      restorer: documentRestorer({ strict: parts.strict, keys: deps.documentKeys }),
      restoreSettings,
    },
  }
}
