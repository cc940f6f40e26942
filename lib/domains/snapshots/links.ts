import { randomBytes } from 'node:crypto'
import { hashOf } from '#lib/kernel/code-hash.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation, stream } from '#lib/kernel/use-case.ts'
import { downloadSnapshot, linkSnapshot } from './contract.ts'
import type { SnapshotPorts } from './ports.ts'
import { linkUntil, mostLinks } from './rules.ts'
import { noSnapshot, refuseUnready, visibleAt } from './snapshot-view.ts'

export const link = ({ agents, origin }: Pick<SnapshotPorts, 'agents' | 'origin'>) =>
  mutation(linkSnapshot, async ({ tx, actor, now }, { params: { id, snapshotId } }) => {
    await agents.locked(tx, actor, id)
    const row = await tx.snapshot.findFirst({ where: { id: snapshotId, agentId: id, ...visibleAt(now) } })
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
  })

/** Needs no sign-in: the link's token grants the download. */
export const download = ({ db, objects }: Pick<SnapshotPorts, 'db' | 'objects'>) =>
  stream(downloadSnapshot, async ({ now }, { params: { token } }) => {
    const none = () =>
      new Problem('not_found', 'This link does not exist or has expired. Ask the owner of the agent for another link.')
    const link = await db.prisma.snapshotLink.findFirst({
      where: { tokenHash: hashOf(token), expiresAt: { gt: now } },
    })
    const row = link && (await db.prisma.snapshot.findFirst({ where: { id: link.snapshotId, ...visibleAt(now) } }))
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
  })
