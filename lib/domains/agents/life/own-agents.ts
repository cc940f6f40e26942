import type { z } from 'zod'
import { leaveClade } from '#lib/domains/clades/writes.ts'
import { insureRetiredAgents } from '#lib/domains/snapshots/writes.ts'
import type { Actor, MutationContext, Transaction } from '#lib/kernel/context.ts'
import { type DataRegions, isStorable, requireStorable } from '#lib/kernel/data-regions.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { guardEndOfAccess, mutation, read } from '#lib/kernel/use-case.ts'
import { rejectAgentUnderLegalHold } from '#lib/stores/postgres/agents-under-legal-hold.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { lockAgent } from '../repository.ts'
import { type LivingAgent, readAgent, setAgentSettings, setAgentStatus } from './contract.ts'
import type { DocumentKeys } from './document-seals.ts'
import { keyringsOfAgent } from './repository.ts'
import { type AgentStatus, decideStatus } from './rules.ts'

export interface LifePorts {
  db: Database
  strict: boolean
  /** The keys that seal documents at rest. */
  documentKeys: DocumentKeys
  /** The regions that agents can require. */
  regions: DataRegions
}

const hasKeyring = async (tx: Transaction, agentId: string): Promise<boolean> =>
  (await keyringsOfAgent(tx, { agent: agentId })).length > 0

/** Agents of others look nonexistent. */
const noSuchAgent = (): Problem => new Problem('not_found', 'No agent with this id exists, or it is not yours.')

const isOwn = (actor: Actor, agent: { id: string; ownerId: string | null }): boolean =>
  actor.kind === 'agent' ? actor.id === agent.id : actor.accountId !== undefined && actor.accountId === agent.ownerId

/**
 * Returns the agent if the actor is it or owns it.
 * @throws {Problem} `not_found`
 */
export async function ownAgent(db: Database, actor: Actor, id: string) {
  const agent = await db.prisma.agent.findUnique({ where: { id } })
  if (!agent || !isOwn(actor, agent)) throw noSuchAgent()
  return agent
}
type AgentOwnershipRow = Awaited<ReturnType<typeof ownAgent>>

/**
 * Like {@link ownAgent}, but locks the row until the transaction ends: status, restriction and sharing cannot change. Other locks of the
 * row wait; rows that refer to it can still be written.
 */
async function ownAgentLocked(tx: Transaction, actor: Actor, id: string): Promise<AgentOwnershipRow> {
  await lockAgent(tx, { agent: id })
  const agent = await tx.agent.findUnique({ where: { id } })
  if (!agent || !isOwn(actor, agent)) throw noSuchAgent()
  return agent
}

/** The regions that can be required here, or that the write stores no content and is accepted in every region. */
type AskedRegions = DataRegions | 'not asked'

/**
 * Rejects writes for the agent by any actor. Operations that delete, recall or switch off do not call this.
 * @throws {Problem} `paused`, `dead`, `restricted`, `wrong_state` while its erasure is pending, or `outside_region`
 */
function refuseUnlessWritable(
  regions: AskedRegions,
  agent: Pick<AgentOwnershipRow, 'status' | 'restrictedAt' | 'suspendedAt' | 'region'>,
): void {
  if (agent.status === 'dead')
    throw new Problem('dead', 'This agent is retired and accepts no writes. Its owner can still read its data.')
  if (agent.status === 'paused')
    throw new Problem(
      'paused',
      'The owner paused this agent, so nothing was written. Set its status to "active" first.',
    )
  if (agent.restrictedAt)
    throw new Problem('restricted', 'Writing is paused for this agent because its processing was restricted.')
  if (agent.suspendedAt)
    throw new Problem(
      'wrong_state',
      'The erasure of this agent is scheduled, so nothing was written. Cancel the erasure first.',
    )
  if (regions !== 'not asked') requireStorable(regions, agent.region, 'outside_region')
}

type FindAgent = (tx: Transaction, actor: Actor, id: string) => Promise<AgentOwnershipRow>

/** Returns the actor's agent, locked, if it may currently share data with its siblings or publicly. */
const sharingAgent =
  (regions: AskedRegions): FindAgent =>
  async (tx, actor, id) => {
    const agent = await ownAgentLocked(tx, actor, id)
    refuseUnlessWritable(regions, agent)
    return agent
  }

/**
 * Like {@link sharingAgent}, but for data stored here.
 * @throws {Problem} `conflict` for a self-hosted agent: only data that it shares is stored here
 */
export function writableAgent(regions: AskedRegions): FindAgent {
  const sharing = sharingAgent(regions)
  return async (tx, actor, id) => {
    const agent = await sharing(tx, actor, id)
    if (agent.selfHosted)
      throw new Problem(
        'conflict',
        'This agent is self-hosted, so only data that it shares is stored here. Nothing was stored.',
      )
    return agent
  }
}

/**
 * Returns the actor's agent, locked, if its data may be deleted: in any status, unless a legal hold covers it.
 * @throws {Problem} `held`
 */
export async function erasableAgent(tx: Transaction, actor: Actor, id: string, now: Date): Promise<AgentOwnershipRow> {
  const agent = await ownAgentLocked(tx, actor, id)
  await rejectAgentUnderLegalHold(tx, id, now)
  return agent
}

/** What other domains ask about the actor's agents before they read, delete or write for one. */
export const ownAgents = (db: Database, regions: DataRegions) => ({
  own: (actor: Actor, id: string) => ownAgent(db, actor, id),
  locked: ownAgentLocked,
  erasable: erasableAgent,
  writable: writableAgent(regions),
  /** Like `writable`, but for data that is only shared here. */
  sharing: sharingAgent(regions),
})

/** The owner's view of an agent's status. */
export const lifeOf = (
  regions: DataRegions,
  agent: Pick<AgentOwnershipRow, 'status' | 'statusAt' | 'diedAt' | 'region' | 'selfHosted'> & { hasKeyring: boolean },
) => ({
  status: agent.status,
  status_at: agent.statusAt,
  died_at: agent.diedAt,
  region: agent.region,
  self_hosted: agent.selfHosted,
  automatic_snapshots: agent.hasKeyring && agent.status !== 'dead' && isStorable(regions, agent.region),
})

const livingView = async (
  regions: DataRegions,
  tx: Transaction,
  agent: AgentOwnershipRow,
): Promise<z.input<typeof LivingAgent>> => ({
  agent_id: agent.id,
  name: agent.name,
  tier: agent.tier,
  ...lifeOf(regions, { ...agent, hasKeyring: await hasKeyring(tx, agent.id) }),
  restricted_at: agent.restrictedAt,
  owner_claimed: agent.ownerId !== null,
  grimoire_days: agent.grimoireDays,
  document_days: agent.documentDays,
  sharing_since: agent.sharingSince,
  created_at: agent.createdAt,
})

const messages: Record<AgentStatus, string> = {
  active: 'The agent is active: its tokens can write again.',
  paused: 'The agent is paused: nothing can be written for it. Reading, deleting and exporting still work.',
  dead: 'The agent is retired. Its heartbeats can be exported for 24 hours and are then deleted. Its automatic snapshots are deleted after 30 days. Everything it shared is recalled. Its documents and grimoire remain until you delete them or request the erasure of the agent.',
}

/** A read-only token cannot change an agent's status. */
function refuseReaders({ actor }: MutationContext): void {
  if (actor.kind === 'agent' && !actor.scopes.some((scope) => scope === 'write' || scope === 'admin'))
    throw new Problem('scope_too_small', 'This operation requires a token with the scope "write".')
}

/** Status and settings of agents. */
export const agentStatus = ({ db, regions }: LifePorts) => ({
  readAgent: read(readAgent, async ({ actor }, { params: { id } }) => ({
    body: { data: await livingView(regions, db.prisma, await ownAgent(db, actor, id)) },
    resourceId: id,
  })),

  setStatus: mutation(setAgentStatus, async (ctx, { params: { id }, body: { status: to, confirm } }) => {
    const { tx, actor, now } = ctx
    refuseReaders(ctx)
    const agent = await ownAgentLocked(tx, actor, id)
    const decision = decideStatus(agent.status, to, {
      isConfirmed: confirm === agent.id,
      isOwned: agent.ownerId !== null,
      byItself: actor.kind === 'agent',
    })
    if (decision === 'for_good')
      throw new Problem(
        'wrong_state',
        'This agent is retired, which is final. To continue its work, restore a snapshot of it into another agent.',
      )
    if (decision === 'unconfirmed')
      throw new Problem('invalid', {
        detail: 'Retirement is final and requires confirmation. Nothing was changed.',
        issues: [{ path: ['confirm'], message: 'must be the id of the agent' }],
      })
    guardEndOfAccess(
      ctx,
      decision === 'changed' && to === 'dead' && agent.ownerId !== null,
      'retire an agent that has an owner (with kp, the owner adds --as)',
    )
    if (decision === 'owner_alone')
      throw new Problem('forbidden', 'Only the signed-in owner can resume this agent. Nothing was changed.')
    const next =
      decision === 'same'
        ? agent
        : await tx.agent.update({
            where: { id },
            data: { status: to, statusAt: now, ...(to === 'dead' && { diedAt: now }) },
          })
    if (decision === 'changed' && to === 'dead') {
      await insureRetiredAgents(tx, { agentId: id, now })
      await leaveClade(tx, { agentId: id, now })
    }
    return {
      body: { data: await livingView(regions, tx, next), message: messages[to] },
      resourceId: id,
      details: { fields: ['status'], from: agent.status, to, changed: decision === 'changed' },
    }
  }),

  setSettings: mutation(setAgentSettings, async ({ tx, actor }, { params: { id }, body }) => {
    // A shorter retention must remain possible in every region.
    await writableAgent('not asked')(tx, actor, id)
    const { grimoire_days: grimoireDays, document_days: documentDays } = body
    const data = {
      ...(grimoireDays !== undefined && { grimoireDays }),
      ...(documentDays !== undefined && { documentDays }),
    }
    const next = await tx.agent.update({ where: { id }, data })
    return {
      body: { data: await livingView(regions, tx, next) },
      resourceId: id,
      details: { fields: Object.keys(body) },
    }
  }),
})
