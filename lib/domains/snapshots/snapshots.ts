import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { hashOf } from '#lib/kernel/code-hash.ts'
import { logFault } from '#lib/kernel/fault-log.ts'
import { pageOf, parseCursor } from '#lib/kernel/pages.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation, read, stream } from '#lib/kernel/use-case.ts'
import type { Snapshot } from '../../../generated/prisma/client.ts'
import {
  deleteSnapshot,
  downloadSnapshot,
  linkSnapshot,
  listSnapshots,
  makeSnapshot,
  readSnapshot,
  readSnapshotKey,
  type SnapshotView,
} from './contract.ts'
import { type Making, orderSnapshot } from './making.ts'
import type { SnapshotPorts } from './ports.ts'
import { countedFor, linkUntil, mostInHour, mostLinks, mostOnDemand, snapshotStates } from './rules.ts'

const Places = z.array(z.strictObject({ kind: z.string(), path: z.string() }))
const SealedKey = z.strictObject({ suite: z.string(), enc: z.string(), ciphertext: z.string() })
const noSnapshot = () =>
  new Problem('not_found', 'This agent has no snapshot with this id, or the snapshot was deleted.')

const viewOf = (row: Snapshot): SnapshotView => ({
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

function refuseUnready({ state }: Pick<Snapshot, 'state'>): void {
  if (state === 'preparing') throw new Problem('wrong_state', 'The snapshot is not ready yet. Try again in a moment.')
  if (state === 'failed')
    throw new Problem(
      'expired',
      'The snapshot failed. Its `error` field has the reason. Fix the cause, then create another snapshot.',
    )
}

/** Snapshots of agents, sealed to their owners: the agent and its owner can order, watch, fetch and delete them. */
export function agentSnapshots(ports: SnapshotPorts, { discard, forget }: Pick<Making, 'discard' | 'forget'>) {
  const { db, objects, keys, agents, keyringOf, origin } = ports
  /** Expired snapshots are invisible even before the job deletes them. */
  const standing = (now: Date) => ({
    state: { in: [...snapshotStates] },
    OR: [{ expiresAt: null }, { expiresAt: { gt: now } }],
  })
  async function found(agentId: string, id: string, now: Date): Promise<Snapshot> {
    const row = await db.prisma.snapshot.findFirst({ where: { id, agentId, ...standing(now) } })
    if (!row) throw noSnapshot()
    return row
  }

  return {
    makeSnapshot: mutation(makeSnapshot, async ({ tx, actor, now }, { params: { id: agentId } }) => {
      // The lock serializes concurrent orders. Exporting existing data is a right, so the owner can order a snapshot
      // of a paused or retired agent.
      const agent = await agents.locked(tx, actor, agentId)
      if (agent.suspendedAt)
        throw new Problem(
          'wrong_state',
          'The erasure of this agent is scheduled, so no snapshot was created. Export the agent, or cancel the erasure first.',
        )
      const ring = await keyringOf(tx, agentId)
      if (!ring)
        throw new Problem(
          'conflict',
          'This agent has no keyring to seal a snapshot with, so no snapshot was created. Create a keyring in the console or with `kp grimoire init`.',
        )
      const there = await tx.snapshot.count({
        where: { agentId, kind: 'on_demand', ...standing(now), state: { in: ['preparing', 'ready'] } },
      })
      if (there >= mostOnDemand)
        throw new Problem(
          'conflict',
          `This agent has ${mostOnDemand} snapshots, which is the limit, so no snapshot was created. Delete one, or wait until one expires.`,
        )
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
      const row = await orderSnapshot(tx, { agentId, keyId: ring.keyId, kind: 'on_demand', diedAt: null, now })
      return {
        resourceId: row.id,
        details: { agent_id: agentId, kind: row.kind },
        body: { data: viewOf(row) },
        headers: { Location: `/v1/agents/${encodeURIComponent(agentId)}/snapshots/${row.id}` },
      }
    }),

    listSnapshots: read(listSnapshots, async ({ actor, now }, { params: { id }, query: { kind, cursor, limit } }) => {
      await agents.own(actor, id)
      const after = parseCursor(cursor)
      const all = { agentId: id, ...standing(now), ...(kind !== undefined && { kind }) }
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
          data: shown.map(viewOf),
          ...page,
        },
      }
    }),

    readSnapshot: read(readSnapshot, async ({ actor, now }, { params: { id, snapshotId } }) => {
      await agents.own(actor, id)
      const row = await found(id, snapshotId, now)
      return { resourceId: snapshotId, details: { agent_id: id }, body: { data: viewOf(row) } }
    }),

    readSnapshotKey: read(readSnapshotKey, async ({ actor, now }, { params: { id, snapshotId } }) => {
      await agents.own(actor, id)
      const row = await found(id, snapshotId, now)
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
    }),

    linkSnapshot: mutation(linkSnapshot, async ({ tx, actor, now }, { params: { id, snapshotId } }) => {
      await agents.locked(tx, actor, id)
      const row = await tx.snapshot.findFirst({ where: { id: snapshotId, agentId: id, ...standing(now) } })
      if (!row) throw noSnapshot()
      refuseUnready(row)
      if ((await tx.snapshotLink.count({ where: { snapshotId, expiresAt: { gt: now } } })) >= mostLinks)
        throw new Problem('conflict', `This snapshot has ${mostLinks} links, which is the limit. Use one of them.`)
      const token = randomBytes(32).toString('base64url')
      const expiresAt = linkUntil(now, row.expiresAt)
      await tx.snapshotLink.create({
        data: { tokenHash: hashOf(token), snapshotId, agentId: id, createdAt: now, expiresAt },
      })
      return {
        resourceId: snapshotId,
        details: { agent_id: id, link: true },
        body: {
          data: {
            snapshot_id: snapshotId,
            url: `${origin}/v1/snapshots/${token}`,
            expires_at: expiresAt.toISOString(),
          },
        },
      }
    }),

    downloadSnapshot: stream(downloadSnapshot, async ({ now }, { params: { token } }) => {
      const none = () =>
        new Problem(
          'not_found',
          'This link does not exist or has expired. Ask the owner of the agent for another link.',
        )
      const link = await db.prisma.snapshotLink.findFirst({
        where: { tokenHash: hashOf(token), expiresAt: { gt: now } },
      })
      const row = link && (await db.prisma.snapshot.findFirst({ where: { id: link.snapshotId, ...standing(now) } }))
      if (row?.state !== 'ready' || row.bytes === null) throw none()
      const body = await objects.get(row.objectKey)
      if (!body) throw none()
      return {
        body,
        resourceId: row.id,
        details: { agent_id: row.agentId },
        headers: {
          'Content-Type': 'application/octet-stream',
          'Content-Length': String(row.bytes),
          'Content-Disposition': `attachment; filename="${row.id}.kpsnap"`,
          'Cache-Control': 'private, no-store',
          'Referrer-Policy': 'no-referrer',
        },
      }
    }),

    deleteSnapshot: mutation(deleteSnapshot, async ({ tx, actor, now }, { params: { id, snapshotId } }) => {
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
    }),
  }
}
