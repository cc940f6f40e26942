import { z } from 'zod'
import { Problem } from '#lib/kernel/problem.ts'
import type { Snapshot } from '../../../generated/prisma/client.ts'
import type { SnapshotView } from './contract.ts'
import type { SnapshotPorts } from './ports.ts'
import { snapshotStates } from './rules.ts'

const Places = z.array(z.strictObject({ kind: z.string(), path: z.string() }))

export const snapshotView = (row: Snapshot): SnapshotView => ({
  id: row.id,
  agent_id: row.agentId,
  kind: row.kind,
  state: row.state === 'gone' ? 'failed' : row.state,
  key_id: row.keyId,
  bytes: row.bytes === null ? null : Number(row.bytes),
  sha256: row.digest === null ? null : Buffer.from(row.digest).toString('hex'),
  failure: row.failure === null ? null : Places.parse(row.failure),
  created_at: row.createdAt.toISOString(),
  ready_at: row.readyAt?.toISOString() ?? null,
  expires_at: row.expiresAt?.toISOString() ?? null,
})

export const noSnapshot = () => new Problem('not_found', 'There is no such snapshot of this agent, or it is gone.')

export function refuseUnready({ state }: Pick<Snapshot, 'state'>): void {
  if (state === 'preparing')
    throw new Problem('wrong_state', 'The snapshot is still being made. Nothing was lost; ask again in a moment.')
  if (state === 'failed')
    throw new Problem('expired', 'The snapshot could not be made: it says why. Take that out, and make another one.')
}

/** Expired snapshots are invisible even before the job deletes them. */
export const visibleAt = (now: Date) => ({
  state: { in: [...snapshotStates] },
  OR: [{ expiresAt: null }, { expiresAt: { gt: now } }],
})

/** @throws {Problem} `not_found` */
export async function visibleSnapshot(
  { prisma }: SnapshotPorts['db'],
  agentId: string,
  id: string,
  now: Date,
): Promise<Snapshot> {
  const row = await prisma.snapshot.findFirst({ where: { id, agentId, ...visibleAt(now) } })
  if (!row) throw noSnapshot()
  return row
}
