import { z } from 'zod'
import { logFault } from '#lib/kernel/fault-log.ts'
import { pageOf, parseCursor } from '#lib/kernel/pages.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import { deleteSnapshot, listSnapshots, readSnapshot, readSnapshotKey } from './contract.ts'
import { download, link } from './links.ts'
import type { Making } from './making.ts'
import { order } from './ordering.ts'
import type { SnapshotPorts } from './ports.ts'
import { noSnapshot, refuseUnready, snapshotView, visibleAt, visibleSnapshot } from './snapshot-view.ts'

const SealedKey = z.strictObject({ suite: z.string(), enc: z.string(), ciphertext: z.string() })

const list = ({ db, agents }: Pick<SnapshotPorts, 'db' | 'agents'>) =>
  read(listSnapshots, async ({ actor, now }, { params: { id }, query: { kind, cursor, limit } }) => {
    await agents.own(actor, id)
    const after = parseCursor(cursor)
    const all = { agentId: id, ...visibleAt(now), ...(kind !== undefined && { kind }) }
    const [rows, total] = await Promise.all([
      db.prisma.snapshot.findMany({
        where: {
          AND: [
            all,
            after ? { OR: [{ createdAt: { lt: after.at } }, { createdAt: after.at, id: { lt: after.id } }] } : {},
          ],
        },
        orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
        take: limit + 1,
      }),
      db.prisma.snapshot.count({ where: all }),
    ])
    const { shown, page } = pageOf(rows, limit, total, ({ createdAt, id }) => ({ at: createdAt, id }))
    return {
      resourceId: id,
      resourceType: 'agent',
      details: { count: shown.length },
      body: {
        data: shown.map(snapshotView),
        ...page,
      },
    }
  })

const readOne = ({ db, agents }: Pick<SnapshotPorts, 'db' | 'agents'>) =>
  read(readSnapshot, async ({ actor, now }, { params: { id, snapshotId } }) => {
    await agents.own(actor, id)
    const row = await visibleSnapshot(db, id, snapshotId, now)
    return { resourceId: snapshotId, details: { agent_id: id }, body: { data: snapshotView(row) } }
  })

const readKey = ({ db, agents, keys }: Pick<SnapshotPorts, 'db' | 'agents' | 'keys'>) =>
  read(readSnapshotKey, async ({ actor, now }, { params: { id, snapshotId } }) => {
    await agents.own(actor, id)
    const row = await visibleSnapshot(db, id, snapshotId, now)
    refuseUnready(row)
    const key = await keys.read(snapshotId)
    if (key === undefined)
      throw new Problem(
        'expired',
        'The key of this snapshot is missing from the snapshot key folder, so the snapshot cannot be opened. Create another snapshot.',
      )
    return {
      resourceId: snapshotId,
      details: { agent_id: id },
      body: {
        data: { snapshot_id: snapshotId, agent_id: id, key_id: row.keyId, sealed_key: SealedKey.parse(key) },
      },
    }
  })

const remove = (
  { agents, keys }: Pick<SnapshotPorts, 'agents' | 'keys'>,
  { discard, forget }: Pick<Making, 'discard' | 'forget'>,
) =>
  mutation(deleteSnapshot, async ({ tx, actor, now }, { params: { id, snapshotId } }) => {
    await agents.erasable(tx, actor, id, now)
    const [row] = await tx.snapshot.updateManyAndReturn({
      where: { id: snapshotId, agentId: id, state: { not: 'gone' } },
      data: { state: 'gone' },
    })
    if (!row) throw noSnapshot()
    await tx.snapshotLink.deleteMany({ where: { snapshotId } })
    return {
      resourceId: snapshotId,
      details: { agent_id: id, kind: row.kind },
      body: { data: { id: snapshotId, key_destroyed: false } },
      async afterCommit() {
        let isDestroyed = false
        try {
          await keys.destroy([snapshotId])
          isDestroyed = true
          await discard(row)
          await forget(row, now)
        } catch (fault) {
          // The upkeep job retries every minute.
          logFault(fault, { operationId: deleteSnapshot.id })
        }
        return { body: { data: { id: snapshotId, key_destroyed: isDestroyed } } }
      },
    }
  })

/** Snapshots of agents, sealed to their owners: the agent and its owner can order, watch, fetch and delete them. */
export const agentSnapshots = (ports: SnapshotPorts, made: Pick<Making, 'discard' | 'forget'>) => ({
  makeSnapshot: order(ports),
  listSnapshots: list(ports),
  readSnapshot: readOne(ports),
  readSnapshotKey: readKey(ports),
  linkSnapshot: link(ports),
  downloadSnapshot: download(ports),
  deleteSnapshot: remove(ports, made),
})
