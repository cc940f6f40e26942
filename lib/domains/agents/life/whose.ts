import type { Actor, Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { refuseHeldAgent } from '#lib/stores/postgres/held-agents.ts'

/** Another's looks like none. */
const noSuchAgent = (): Problem => new Problem('not_found', 'There is no such agent, or it is not yours.')

const isOwn = (actor: Actor, agent: { id: string; ownerId: string | null }): boolean =>
  actor.kind === 'agent' ? actor.id === agent.id : actor.accountId !== undefined && actor.accountId === agent.ownerId

/** The agent, where it is the actor or the actor owns it. Throws `not_found`. */
export async function ownAgent(db: Database, actor: Actor, id: string) {
  const agent = await db.prisma.agent.findUnique({ where: { id } })
  if (!agent || !isOwn(actor, agent)) throw noSuchAgent()
  return agent
}
export type OwnedAgent = Awaited<ReturnType<typeof ownAgent>>

/**
 * As {@link ownAgent}, with its row locked until the transaction ends: status, restriction and sharing stay as they are. Whoever else
 * locks it waits; what refers to it can still be written.
 */
export async function ownAgentLocked(tx: Transaction, actor: Actor, id: string): Promise<OwnedAgent> {
  await tx.$queryRaw`SELECT 1 FROM agents WHERE id = ${id} FOR NO KEY UPDATE`
  const agent = await tx.agent.findUnique({ where: { id } })
  if (!agent || !isOwn(actor, agent)) throw noSuchAgent()
  return agent
}

/**
 * Throws where nothing may be written for the agent, whoever asks: `paused`, `dead`, `restricted`, and `wrong_state` while its erasure
 * waits. What takes away (deleting, recalling, switching off) does not ask this.
 */
function refuseUnlessWritable(agent: Pick<OwnedAgent, 'status' | 'restrictedAt' | 'suspendedAt'>): void {
  if (agent.status === 'dead')
    throw new Problem(
      'dead',
      'This agent is dead: nothing is written for it any more. What it left can be read by its owner.',
    )
  if (agent.status === 'paused')
    throw new Problem(
      'paused',
      'This agent is paused by its owner. Nothing was written; set its status to "active" first.',
    )
  if (agent.restrictedAt)
    throw new Problem('restricted', 'Writing is paused for this agent because its processing was restricted.')
  if (agent.suspendedAt)
    throw new Problem(
      'wrong_state',
      'The erasure of this agent was asked for and waits. Nothing was written: cancel the erasure first.',
    )
}

/** The actor's agent, locked, for which something may be told to others now: its siblings, or everybody. */
export async function sharingAgent(tx: Transaction, actor: Actor, id: string): Promise<OwnedAgent> {
  const agent = await ownAgentLocked(tx, actor, id)
  refuseUnlessWritable(agent)
  return agent
}

/** As {@link sharingAgent}, for which something may be kept here now. Throws `conflict` for a self-hosted one: of it we hold what it shared, and nothing else. */
export async function writableAgent(tx: Transaction, actor: Actor, id: string): Promise<OwnedAgent> {
  const agent = await sharingAgent(tx, actor, id)
  if (agent.selfHosted)
    throw new Problem(
      'conflict',
      'This agent is self-hosted: it keeps what is its own elsewhere, and nothing is held here but what it shares. Nothing was stored.',
    )
  return agent
}

/** The actor's agent, locked, of which something may be deleted now: whatever its status, unless a legal hold covers it. Throws `held`. */
export async function erasableAgent(tx: Transaction, actor: Actor, id: string, now: Date): Promise<OwnedAgent> {
  const agent = await ownAgentLocked(tx, actor, id)
  await refuseHeldAgent(tx, id, now)
  return agent
}
