import { createHash } from 'node:crypto'
import type { Snapshot } from '#generated/prisma/client.ts'
import { sealTo } from '#lib/client/sealing/hpke.ts'
import { newSnapshotKey, type SnapshotHead, sealSnapshot } from '#lib/client/sealing/snapshot.ts'
import { snapshotSettings } from '#lib/domains/agents/queries.ts'
import { keyringOf } from '#lib/domains/grimoire/queries.ts'
import { enqueue } from '#lib/jobs/queue.ts'
import type { Context, Transaction } from '#lib/kernel/context.ts'
import { isStorable } from '#lib/kernel/data-regions.ts'
import type { Exporter } from '#lib/kernel/exporter.ts'
import { newId } from '#lib/kernel/ids.ts'
import { bundleContentOf, SecretRemaining } from './content.ts'
import type { SnapshotPorts, SnapshotSettings, StatePart } from './ports.ts'
import { countedFor, failureFor, insuredFor, onDemandUntil, type SecretLocation } from './rules.ts'

export const makeJob = 'snapshots.make'
const attemptLimit = 8

/** The prefix of all objects of an agent in the object store. */
export const objectsOfAgent = (agentId: string): string => `snapshots/${agentId}/`

/** Stores a snapshot order and enqueues its job. The agent has the keyring. */
export async function orderSnapshot(
  tx: Transaction,
  {
    agentId,
    keyId,
    kind,
    diedAt,
    now,
  }: Pick<Snapshot, 'agentId' | 'keyId' | 'kind'> & { diedAt: Date | null; now: Date },
): Promise<Snapshot> {
  const id = newId('snap')
  const expiresAt =
    kind === 'on_demand' ? onDemandUntil(now) : diedAt === null ? null : new Date(diedAt.getTime() + insuredFor)
  const row = await tx.snapshot.create({
    data: { id, agentId, keyId, kind, objectKey: `${objectsOfAgent(agentId)}${id}`, createdAt: now, expiresAt },
  })
  await enqueue(tx, makeJob, { id }, { key: `${makeJob}:${id}`, maxAttempts: attemptLimit })
  return row
}

const headOf = ({ id, agentId, kind, keyId, createdAt, expiresAt }: Snapshot): SnapshotHead => ({
  id,
  agent: agentId,
  kind,
  key_id: keyId,
  created_at: createdAt.toISOString(),
  expires_at: expiresAt?.toISOString() ?? null,
})

/** The settings of an agent as its snapshot contains them. */
const settingsIn = (id: string, { name, region, selfHosted, grimoireDays, createdAt }: SnapshotSettings) => ({
  id,
  name,
  region,
  self_hosted: selfHosted,
  grimoire_days: grimoireDays,
  created_at: createdAt.toISOString(),
})

/** Passes on the pieces of a sealed snapshot, and measures them. The pieces can be read once. */
function measuredPieces(sealed: AsyncIterable<Uint8Array<ArrayBuffer>>) {
  const hash = createHash('sha256')
  let bytes = 0
  let secret: SecretRemaining | undefined
  async function* pieces() {
    try {
      for await (const piece of sealed) {
        hash.update(piece)
        bytes += piece.byteLength
        yield piece
      }
    } catch (error) {
      if (error instanceof SecretRemaining) secret = error
      throw error
    }
  }
  return {
    pieces,
    /** The secret because of which the snapshot was not sealed. */
    secret: () => secret,
    /** Call it once, after the last piece. */
    result: () => ({ bytes, digest: new Uint8Array(hash.digest()) }),
  }
}

/** Makes the ordered snapshots. */
export function making(ports: SnapshotPorts) {
  const { db, objects, keys, parts } = ports

  /** Key before object: after a crash in between, the object cannot be opened. */
  async function discard({ id, objectKey }: Pick<Snapshot, 'id' | 'objectKey'>): Promise<void> {
    await keys.destroy([id])
    await objects.erase([objectKey])
  }
  /** Deletes the row of a discarded snapshot once it no longer counts towards the hourly limit. */
  async function forget(
    { id, kind, createdAt }: Pick<Snapshot, 'id' | 'kind' | 'createdAt'>,
    now: Date,
  ): Promise<void> {
    const isCounted = kind === 'on_demand' && createdAt.getTime() + countedFor > now.getTime()
    const where = { id, state: 'gone' as const }
    if (isCounted) await db.prisma.snapshot.updateMany({ where, data: { bytes: null, digest: null } })
    else
      await db.prisma.$transaction([
        db.prisma.snapshotLink.deleteMany({ where: { snapshotId: id } }),
        db.prisma.snapshot.deleteMany({ where }),
      ])
  }
  async function fail(row: Snapshot, locations: SecretLocation[], now: Date): Promise<void> {
    await discard(row)
    await db.prisma.snapshot.updateMany({
      where: { id: row.id, state: 'preparing' },
      data: {
        state: 'failed',
        failure: locations.map(({ kind, path }) => ({ kind, path })),
        expiresAt: new Date(now.getTime() + failureFor),
      },
    })
  }

  return {
    discard,
    forget,
    /**
     * Safe to repeat: every attempt has its own key, which replaces the previous one. The queue retries.
     * @throws Problem `unavailable` when the object store does not answer
     */
    async run(id: string, { now, pipeline }: Pick<Context, 'now' | 'pipeline'>): Promise<void> {
      const row = await db.prisma.snapshot.findUnique({ where: { id } })
      // The snapshot was deleted while an attempt made it: destroy the key that this attempt wrote last.
      if (!row || row.state === 'gone') await keys.destroy([id])
      if (row?.state !== 'preparing') return
      const { agentId } = row
      const [agent, ring] = await Promise.all([snapshotSettings(db.prisma, agentId), keyringOf(db.prisma, agentId)])
      const isOver = row.expiresAt !== null && row.expiresAt <= now
      // Nobody ordered an automatic snapshot: no copy is made where the agent's data may not be stored.
      const isOutside = row.kind === 'insurance' && !isStorable(pipeline.regions, agent.region)
      if (ring?.keyId !== row.keyId || isOver || isOutside || agent.suspendedAt) {
        await discard(row)
        await db.prisma.snapshot.deleteMany({ where: { id, state: 'preparing' } })
        return
      }
      const bundle = await db.prisma.stateBundle.findUnique({ where: { agentId } })
      const key = newSnapshotKey()
      await keys.write(id, await sealTo(ring.publicKey, key, { agent: agentId, snapshot: id }))
      const content = bundleContentOf({
        agentId,
        settings: settingsIn(agentId, agent),
        parts,
        until: now,
        bundle: bundle ? { mediaType: bundle.mediaType, bytes: () => objects.get(bundle.objectKey) } : undefined,
      })
      const measured = measuredPieces(sealSnapshot(key, headOf(row), content))
      try {
        await objects.put(row.objectKey, measured.pieces(), { mediaType: 'application/octet-stream' })
      } catch (error) {
        // The object store may wrap the error that its source threw.
        const secret = measured.secret()
        if (!secret) throw error
        await fail(row, secret.places, now)
        return
      }
      const { bytes, digest } = measured.result()
      const { count } = await db.prisma.snapshot.updateMany({
        where: { id, state: 'preparing' },
        data: { state: 'ready', bytes, digest, readyAt: now },
      })
      if (count === 0) await discard(row)
    },
  }
}
export type Making = ReturnType<typeof making>

/** Export parts that make up an agent's state, and whether a record of them is already sealed. */
const isSealed: Record<string, (record: unknown) => boolean> = {
  agent_documents: () => false,
  keyrings: () => true,
  grimoire_entries: (record) =>
    typeof record === 'object' && record !== null && 'scope' in record && record.scope === 'private',
}

/** The parts of a snapshot from other domains: their records, as in an export. */
export const snapshotParts = (exporters: readonly Exporter[]): StatePart[] =>
  exporters.flatMap(({ part, pages }) => {
    const sealed = isSealed[part]
    if (!sealed) return []
    const reader = {
      basis: 'all',
      id: 'system:snapshots.make',
      organisationId: undefined,
      isAdmin: false,
      seesPrivate: true,
    } as const
    return [
      {
        name: part,
        isSealed: sealed,
        pages: (agentId, until) => pages(agentId, { ...reader, agents: [agentId], until }),
      },
    ]
  })
