import type { Actor, Transaction } from '#lib/kernel/context.ts'
import { type DataRegions, requireStorable } from '#lib/kernel/data-regions.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { rejectAgentUnderLegalHold } from '#lib/stores/postgres/agents-under-legal-hold.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { lockAgent } from '../repository.ts'

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
export type AgentOwnershipRow = Awaited<ReturnType<typeof ownAgent>>

/**
 * Like {@link ownAgent}, but locks the row until the transaction ends: status, restriction and sharing cannot change. Other locks of the
 * row wait; rows that refer to it can still be written.
 */
export async function ownAgentLocked(tx: Transaction, actor: Actor, id: string): Promise<AgentOwnershipRow> {
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
export const sharingAgent =
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
