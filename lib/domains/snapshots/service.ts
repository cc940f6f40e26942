import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import type { Snapshot, SnapshotLink } from '#generated/prisma/client.ts'
import { keyringOf } from '#lib/domains/grimoire/queries.ts'
import type { Context, Transaction } from '#lib/kernel/context.ts'
import { type EvidenceCheck, endsInTime } from '#lib/kernel/evidence.ts'
import type { Exporter } from '#lib/kernel/exporter.ts'
import { logFault } from '#lib/kernel/fault-log.ts'
import { hashOf } from '#lib/kernel/ids.ts'
import { job } from '#lib/kernel/job.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import { pageOf, parseCursor } from '#lib/kernel/pages.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation, read, stream } from '#lib/kernel/use-case.ts'
import { agentsUnderLegalHold } from '#lib/stores/postgres/agents-under-legal-hold.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { MissingStoreData } from '#lib/stores/registered-store.ts'
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
import { type Making, makeJob, making, orderSnapshot, snapshotParts } from './making.ts'
import { type SnapshotSourcePorts, snapshotDataSources, snapshotExporters } from './personal-data.ts'
import type { Restorer, SnapshotPorts } from './ports.ts'
import { restoring } from './restoring.ts'
import { countedFor, linkUntil, maxInHour, maxLinks, maxOnDemand, snapshotStates } from './rules.ts'
import { dropJob, stateBundles, stateStore } from './state.ts'
import { snapshotUpkeep } from './upkeep.ts'

const SealedKey = z.strictObject({ suite: z.string(), enc: z.string(), ciphertext: z.string() })

const Places = z.array(z.strictObject({ kind: z.string(), path: z.string() }))

const snapshotView = (row: Snapshot): z.input<typeof SnapshotView> => ({
  id: row.id,
  agent_id: row.agentId,
  kind: row.kind,
  state: row.state === 'gone' ? 'failed' : row.state,
  key_id: row.keyId,
  bytes: row.bytes === null ? null : Number(row.bytes),
  sha256: row.digest === null ? null : Buffer.from(row.digest).toString('hex'),
  failure: row.failure === null ? null : Places.parse(row.failure),
  created_at: row.createdAt,
  ready_at: row.readyAt,
  expires_at: row.expiresAt,
})

const noSnapshot = () =>
  new Problem('not_found', 'This agent has no snapshot with this id, or the snapshot was deleted.')

function refuseUnready({ state }: Pick<Snapshot, 'state'>): void {
  if (state === 'preparing') throw new Problem('wrong_state', 'The snapshot is not ready yet. Try again in a moment.')
  if (state === 'failed')
    throw new Problem(
      'expired',
      'The snapshot failed. Its `error` field has the reason. Fix the cause, then create another snapshot.',
    )
}

/** Expired snapshots are invisible even before the job deletes them. */
const visibleAt = (now: Date) => ({
  state: { in: [...snapshotStates] },
  OR: [{ expiresAt: null }, { expiresAt: { gt: now } }],
})

/** @throws {Problem} `not_found` */
async function visibleSnapshot(
  { prisma }: SnapshotPorts['db'],
  agentId: string,
  id: string,
  now: Date,
): Promise<Snapshot> {
  const row = await prisma.snapshot.findFirst({ where: { id, agentId, ...visibleAt(now) } })
  if (!row) throw noSnapshot()
  return row
}

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

const link = ({ agents, origin }: Pick<SnapshotPorts, 'agents' | 'origin'>) =>
  mutation(linkSnapshot, async ({ tx, actor, now, pipeline }, { params: { id, snapshotId } }) => {
    await agents.locked(tx, actor, id)
    const row = await tx.snapshot.findFirst({ where: { id: snapshotId, agentId: id, ...visibleAt(now) } })
    if (!row) throw noSnapshot()
    refuseUnready(row)
    const makers = await tx.snapshotLink.groupBy({
      by: ['tokenId', 'sessionId'],
      where: { snapshotId, expiresAt: { gt: now } },
      _count: true,
    })
    let valid = 0
    for (const { _count: links, ...maker } of makers) if (await isMakerPresent(pipeline, tx, maker, now)) valid += links
    if (valid >= maxLinks)
      throw new Problem('conflict', `This snapshot has ${maxLinks} links, which is the limit. Use one of them.`)
    const token = randomBytes(32).toString('base64url')
    const expiresAt = linkUntil(now, row.expiresAt)
    await tx.snapshotLink.create({
      data: {
        tokenHash: hashOf(token),
        snapshotId,
        agentId: id,
        createdAt: now,
        expiresAt,
        tokenId: actor.tokenId ?? null,
        sessionId: actor.sessionId ?? null,
      },
    })
    return {
      resourceId: snapshotId,
      details: { agent_id: id, link: true },
      body: {
        data: {
          snapshot_id: snapshotId,
          url: `${origin}/v1/snapshots/${token}`,
          expires_at: expiresAt,
        },
      },
    }
  })

/** Whether the token or session that created the link is still valid. Links of earlier versions name neither. */
async function isMakerPresent(
  pipeline: Context['pipeline'],
  tx: Transaction,
  { tokenId, sessionId }: Pick<SnapshotLink, 'tokenId' | 'sessionId'>,
  now: Date,
): Promise<boolean> {
  const maker = { ...(tokenId !== null && { tokenId }), ...(sessionId !== null && { sessionId }), isAdmin: false }
  try {
    await pipeline.requirePresent(tx, maker, false, now)
    return true
  } catch (error) {
    if (error instanceof Problem && error.status < 500) return false
    throw error
  }
}

/** Needs no sign-in: the link's token grants the download, as long as the token or session that created the link is valid. */
const download = ({ db, objects }: Pick<SnapshotPorts, 'db' | 'objects'>) =>
  stream(downloadSnapshot, async (ctx, { params: { token } }) => {
    const { now } = ctx
    const none = () =>
      new Problem(
        'not_found',
        'This link does not exist or is no longer valid. Ask the owner of the agent for another link.',
      )
    const link = await db.prisma.snapshotLink.findFirst({
      where: { tokenHash: hashOf(token), expiresAt: { gt: now } },
    })
    const { pipeline } = ctx
    const isPresent = link && (await pipeline.transaction((tx) => isMakerPresent(pipeline, tx, link, now)))
    if (!isPresent) throw none()
    const row = await db.prisma.snapshot.findFirst({ where: { id: link.snapshotId, ...visibleAt(now) } })
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

/** @throws {Problem} `conflict` if the agent already has the most on-demand snapshots */
async function requireRoom(tx: Transaction, agentId: string, now: Date): Promise<void> {
  const present = await tx.snapshot.count({
    where: { agentId, kind: 'on_demand', ...visibleAt(now), state: { in: ['preparing', 'ready'] } },
  })
  if (present >= maxOnDemand)
    throw new Problem(
      'conflict',
      `This agent has ${maxOnDemand} snapshots, which is the limit, so no snapshot was created. Delete one, or wait until one expires.`,
    )
}

/** @throws {Problem} `rate_limited` with the time until the oldest snapshot of the last hour no longer counts */
async function requireHourlyQuota(tx: Transaction, agentId: string, now: Date): Promise<void> {
  const recent = await tx.snapshot.findMany({
    where: { agentId, kind: 'on_demand', createdAt: { gt: new Date(now.getTime() - countedFor) } },
    orderBy: { createdAt: 'desc' },
    select: { createdAt: true },
    take: maxInHour,
  })
  const oldest = recent.length < maxInHour ? undefined : recent.at(-1)
  if (oldest) {
    const wait = Math.max(1, Math.ceil((oldest.createdAt.getTime() + countedFor - now.getTime()) / 1_000))
    throw new Problem('rate_limited', {
      detail: `An agent can create at most ${maxInHour} snapshots per hour, so no snapshot was created. Try again later.`,
      headers: { 'Retry-After': String(wait) },
    })
  }
}

/** @throws {Problem} `conflict` if the agent has no keyring */
async function requireKeyring(tx: Transaction, agentId: string) {
  const ring = await keyringOf(tx, agentId)
  if (!ring)
    throw new Problem(
      'conflict',
      'This agent has no keyring to seal a snapshot with, so no snapshot was created. Create a keyring in the console or with `kp grimoire init`.',
    )
  return ring
}

const order = ({ agents }: Pick<SnapshotPorts, 'agents'>) =>
  mutation(makeSnapshot, async ({ tx, actor, now }, { params: { id: agentId } }) => {
    // The lock serializes concurrent orders. Exporting existing data is a right, so the owner can order a snapshot
    // of a paused or retired agent.
    const agent = await agents.locked(tx, actor, agentId)
    if (agent.suspendedAt)
      throw new Problem(
        'wrong_state',
        'The erasure of this agent is scheduled, so no snapshot was created. Export the agent, or cancel the erasure first.',
      )
    const ring = await requireKeyring(tx, agentId)
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

/** Snapshots of agents, sealed to their owners: the agent and its owner can order, watch, fetch and delete them. */
const agentSnapshots = (ports: SnapshotPorts, made: Pick<Making, 'discard' | 'forget'>) => ({
  makeSnapshot: order(ports),
  listSnapshots: list(ports),
  readSnapshot: readOne(ports),
  readSnapshotKey: readKey(ports),
  linkSnapshot: link(ports),
  downloadSnapshot: download(ports),
  deleteSnapshot: remove(ports, made),
})

/** The use cases and the scheduled work of snapshots. */
function snapshotsService(ports: SnapshotPorts) {
  const made = making(ports)
  const states = stateStore(ports)
  const upkeep = snapshotUpkeep(ports, made)
  return {
    useCases: { ...agentSnapshots(ports, made), ...stateBundles(ports, states), ...restoring(ports, states) },
    jobs: [
      job({
        name: makeJob,
        payload: z.strictObject({ id: z.string() }),
        run: (ctx, { id }) => made.run(id, ctx),
      }),
      job({
        name: dropJob,
        payload: z.strictObject({ agentId: z.string(), id: z.string() }),
        run: (_ctx, { agentId, id }) => states.dropNow(agentId, id),
      }),
      job({ name: 'snapshots.upkeep', payload: z.unknown(), cron: '* * * * *', run: (ctx) => upkeep.run(ctx) }),
      job({ name: 'snapshots.insure', payload: z.unknown(), cron: '*/10 * * * *', run: (ctx) => upkeep.insure(ctx) }),
      job({
        name: 'snapshots.sweep',
        payload: z.unknown(),
        cron: '47 3 * * *',
        run: async (ctx) => {
          await upkeep.sweep(ctx)
        },
      }),
    ],
  }
}

export const snapshotsData = ({
  db,
  storeRegistry,
  snapshotStorage,
}: {
  db: Database
  storeRegistry: { missing(port: 'objects'): MissingStoreData }
  snapshotStorage: Omit<SnapshotSourcePorts, 'whatIsMissing'>
}): PersonalData => ({
  dataSources: snapshotDataSources({ ...snapshotStorage, whatIsMissing: storeRegistry.missing('objects') }),
  exporters: snapshotExporters(db),
})

/**
 * The row of a snapshot is deleted last, after its key and its object, so an existing row means that data may exist.
 * Snapshots under legal hold are not overdue.
 */
export const snapshotsEvidence = (): EvidenceCheck[] => [
  endsInTime(
    'snapshots.ended',
    `SELECT expires_at AS ends FROM snapshots WHERE kind = 'on_demand' OR agent_id NOT IN (${agentsUnderLegalHold('$1')})`,
  ),
]

/** How a domain exports and restores the state of agents. */
interface StoredState {
  exporters: readonly Exporter[]
  restorer: Restorer
}
/** Sealed snapshots of agents. */
export function snapshotsModule({
  snapshotStorage,
  ownAgents,
  stored,
  ...deps
}: Omit<SnapshotPorts, 'agents' | 'db' | 'keys' | 'objects' | 'parts' | 'restorers' | 'restoreSettings'> & {
  snapshotStorage: Pick<SnapshotPorts, 'db' | 'keys' | 'objects'>
  ownAgents: SnapshotPorts['agents']
  /** The data that a snapshot contains: what agents store, and what their grimoires store. */
  stored: { agents: StoredState & Pick<SnapshotPorts, 'restoreSettings'>; grimoires: StoredState }
}) {
  const { useCases, jobs } = snapshotsService({
    ...deps,
    ...snapshotStorage,
    agents: ownAgents,
    parts: snapshotParts([...stored.agents.exporters, ...stored.grimoires.exporters]),
    restorers: [stored.agents.restorer, stored.grimoires.restorer],
    restoreSettings: stored.agents.restoreSettings,
  })
  return { useCases: { snapshots: useCases }, jobs, checks: snapshotsEvidence() }
}
