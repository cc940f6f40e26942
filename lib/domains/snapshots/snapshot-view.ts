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

export const noSnapshot = () =>
  new Problem('not_found', 'This agent has no snapshot with this id, or the snapshot was deleted.')

export function refuseUnready({ state }: Pick<Snapshot, 'state'>): void {
  if (state === 'preparing') throw new Problem('wrong_state', 'The snapshot is not ready yet. Try again in a moment.')
  if (state === 'failed')
    throw new Problem(
      'expired',
      'The snapshot failed. Its `error` field has the reason. Fix the cause, then create another snapshot.',
    )
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
