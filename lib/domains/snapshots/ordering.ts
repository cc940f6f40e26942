import type { Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation } from '#lib/kernel/use-case.ts'
import { makeSnapshot } from './contract.ts'
import { orderSnapshot } from './making.ts'
import type { SnapshotPorts } from './ports.ts'
import { countedFor, mostInHour, mostOnDemand } from './rules.ts'
import { snapshotView, visibleAt } from './snapshot-view.ts'

/** @throws {Problem} `conflict` if the agent already has the most on-demand snapshots */
async function requireRoom(tx: Transaction, agentId: string, now: Date): Promise<void> {
  const present = await tx.snapshot.count({
    where: { agentId, kind: 'on_demand', ...visibleAt(now), state: { in: ['preparing', 'ready'] } },
  })
  if (present >= mostOnDemand)
    throw new Problem(
      'conflict',
      `This agent has ${mostOnDemand} snapshots, which is the limit, so no snapshot was created. Delete one, or wait until one expires.`,
    )
}

/** @throws {Problem} `rate_limited` with the time until the oldest snapshot of the last hour no longer counts */
async function requireHourlyQuota(tx: Transaction, agentId: string, now: Date): Promise<void> {
  const recent = await tx.snapshot.findMany({
    where: { agentId, kind: 'on_demand', createdAt: { gt: new Date(now.getTime() - countedFor) } },
    orderBy: { createdAt: 'desc' },
    select: { createdAt: true },
    take: mostInHour,
  })
  const oldest = recent.length < mostInHour ? undefined : recent.at(-1)
  if (oldest) {
    const wait = Math.max(1, Math.ceil((oldest.createdAt.getTime() + countedFor - now.getTime()) / 1_000))
    throw new Problem('rate_limited', {
      detail: `An agent can create at most ${mostInHour} snapshots per hour, so no snapshot was created. Try again later.`,
      headers: { 'Retry-After': String(wait) },
    })
  }
}

/** @throws {Problem} `conflict` if the agent has no keyring */
async function requireKeyring(keyringOf: SnapshotPorts['keyringOf'], tx: Transaction, agentId: string) {
  const ring = await keyringOf(tx, agentId)
  if (!ring)
    throw new Problem(
      'conflict',
      'This agent has no keyring to seal a snapshot with, so no snapshot was created. Create a keyring in the console or with `kp grimoire init`.',
    )
  return ring
}

export const order = ({ agents, keyringOf }: Pick<SnapshotPorts, 'agents' | 'keyringOf'>) =>
  mutation(makeSnapshot, async ({ tx, actor, now }, { params: { id: agentId } }) => {
    // The lock serializes concurrent orders. Exporting existing data is a right, so the owner can order a snapshot
    // of a paused or retired agent.
    const agent = await agents.locked(tx, actor, agentId)
    if (agent.suspendedAt)
      throw new Problem(
        'wrong_state',
        'The erasure of this agent is scheduled, so no snapshot was created. Export the agent, or cancel the erasure first.',
      )
    const ring = await requireKeyring(keyringOf, tx, agentId)
    await requireRoom(tx, agentId, now)
    await requireHourlyQuota(tx, agentId, now)
    const row = await orderSnapshot(tx, { agentId, keyId: ring.keyId, kind: 'on_demand', diedAt: null, now })
    return {
      resourceId: row.id,
      details: { agent_id: agentId, kind: row.kind },
      body: { data: snapshotView(row) },
      headers: { Location: `/v1/agents/${encodeURIComponent(agentId)}/snapshots/${row.id}` },
    }
  })
