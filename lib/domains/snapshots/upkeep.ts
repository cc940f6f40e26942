import type { Snapshot } from '#generated/prisma/client.ts'
import type { Context, Transaction } from '#lib/kernel/context.ts'
import { isStorable } from '#lib/kernel/data-regions.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { notePurge } from '#lib/kernel/purging.ts'
import { lockHolds } from '#lib/stores/postgres/agents-under-legal-hold.ts'
import { type Making, orderSnapshot } from './making.ts'
import type { SnapshotPorts } from './ports.ts'
import { lockAgentsToInsure, markExpired, markReplaced, namedObjects } from './repository.ts'
import { countedFor, failureFor, insuredEvery, onDemandFor } from './rules.ts'

/** Rows per transaction. */
const batch = 100

const recordDeletion = (ctx: Context, tx: Transaction, subject: string, count: number): Promise<unknown> =>
  ctx.pipeline.recordDeletion(tx, {
    requestedBy: ctx.actor.id,
    reason: 'retention',
    scope: { subject },
    results: { snapshotsDeleted: count },
    now: ctx.now,
  })

/**
 * Marks expired snapshots and deletes their links. A legal hold keeps the insurance snapshots of a retired agent,
 * because they are its last copies. On-demand snapshots still expire and newer insurance snapshots still replace
 * older ones: they copy data that the hold keeps.
 */
const endSome = (ctx: Context): Promise<number> =>
  ctx.pipeline.transaction(async (tx) => {
    await lockHolds(tx)
    const rows = await markExpired(tx, { now: ctx.now, limit: batch })
    const ids = rows.map(({ id }) => id)
    if (ids.length === 0) return 0
    await tx.snapshotLink.deleteMany({ where: { snapshotId: { in: ids } } })
    await ctx.pipeline.auditWithin(
      tx,
      ...ids.map((resourceId) => ({
        action: 'delete' as const,
        actorId: ctx.actor.id,
        resourceType: 'snapshot',
        resourceId,
        at: ctx.now,
        ip: '',
        details: { ended: true },
      })),
    )
    await recordDeletion(ctx, tx, 'snapshots that expired', ids.length)
    return ids.length
  })

/** Marks insurance snapshots beyond the newest few of each agent. */
const replaceOld = (ctx: Context): Promise<number> =>
  ctx.pipeline.transaction(async (tx) => {
    const count = await markReplaced(tx, { limit: batch })
    return notePurge(ctx, tx, {
      what: 'automatic snapshots that newer ones replaced',
      results: { snapshotsDeleted: count },
      resourceType: 'snapshot',
      resourceId: 'replaced',
    })
  })

async function eachMarked(
  db: SnapshotPorts['db'],
  now: Date,
  work: (rows: readonly Snapshot[]) => Promise<void>,
): Promise<void> {
  const before = new Date(now.getTime() - countedFor)
  for (let after = ''; ; ) {
    const rows = await db.prisma.snapshot.findMany({
      where: {
        state: 'gone',
        id: { gt: after },
        // Rows of recently deleted snapshots without data remain, because they count towards the hourly limit.
        OR: [{ kind: 'insurance' }, { bytes: { not: null } }, { createdAt: { lte: before } }],
      },
      orderBy: { id: 'asc' },
      take: batch,
    })
    await work(rows)
    const last = rows.at(-1)
    if (!last || rows.length < batch) return
    after = last.id
  }
}

const insureSome = (ctx: Context): Promise<number> =>
  ctx.pipeline.transaction(async (tx) => {
    const since = new Date(ctx.now.getTime() - insuredEvery)
    const { regions } = ctx.pipeline
    const storable = regions.choosable.filter((region) => isStorable(regions, region))
    const due = await lockAgentsToInsure(tx, { regions: storable, since, limit: batch })
    for (const { agent_id, key_id } of due)
      await orderSnapshot(tx, { agentId: agent_id, keyId: key_id, kind: 'insurance', diedAt: null, now: ctx.now })
    return due.length
  })

const day = 24 * 3_600_000
const pageSize = 500
/** Keys of snapshots and uploaded states. The sweep leaves all other objects alone. */
const ownKey = /^snapshots\/[\w.:-]+\/(?:snap_[0-9A-Za-z]{22}|state\/state_[0-9A-Za-z]{22})$/

/** Deletes keys without a row. */
async function sweepKeys({ db, keys }: Pick<SnapshotPorts, 'db' | 'keys'>, now: Date): Promise<number> {
  const old = await keys.olderThan(new Date(now.getTime() - day))
  const rows = await db.prisma.snapshot.findMany({ where: { id: { in: old } }, select: { id: true } })
  const known = new Set(rows.map(({ id }) => id))
  return keys.destroy(old.filter((id) => !known.has(id)))
}

/** Deletes objects without a row, which crashes during snapshots and uploads left. */
async function sweepObjects(
  { db, objects, areObjectsOurs }: Pick<SnapshotPorts, 'db' | 'objects' | 'areObjectsOurs'>,
  now: Date,
): Promise<number> {
  const before = new Date(now.getTime() - day)
  let swept = 0
  let areOurs: boolean | undefined
  for (let after = ''; ; ) {
    const listed = await objects.list('snapshots/', after, pageSize)
    const ours = listed.filter((key) => ownKey.test(key))
    const rows = await namedObjects(db, { keys: ours })
    const retained = new Set(rows.map(({ key }) => key))
    const orphans: string[] = []
    for (const key of ours)
      if (!retained.has(key) && (await objects.versions(key)).every(({ at }) => at < before)) orphans.push(key)
    if (orphans.length > 0) {
      areOurs ??= await areObjectsOurs()
      if (!areOurs) return swept
      swept += await objects.erase(orphans)
    }
    const last = listed.at(-1)
    if (last === undefined || listed.length < pageSize) return swept
    after = last
  }
}

/** Deletes what crashes left: keys and objects that no row names. Returns how many. */
const sweepRemains = async (
  ports: Pick<SnapshotPorts, 'db' | 'keys' | 'objects' | 'areObjectsOurs'>,
  now: Date,
): Promise<{ keys: number; objects: number }> => ({
  keys: await sweepKeys(ports, now),
  objects: await sweepObjects(ports, now),
})

/** Scheduled work: expired snapshots, insurance snapshots, and remains of crashes. */
export function snapshotUpkeep(ports: SnapshotPorts, { discard, forget }: Pick<Making, 'discard' | 'forget'>) {
  const { db, keys } = ports

  /** Deletes all keys of marked snapshots, then objects and rows. Continues after a failure and throws the first one at the end. */
  async function finish(now: Date): Promise<void> {
    const faults: unknown[] = []
    const collectFault = (work: Promise<unknown>) => work.catch((fault: unknown) => faults.push(fault))
    await eachMarked(db, now, async (rows) => {
      await collectFault(keys.destroy(rows.map(({ id }) => id)))
    })
    await eachMarked(db, now, async (rows) => {
      for (const row of rows) {
        await collectFault(discard(row).then(() => forget(row, now)))
        const last = faults.at(-1)
        // Do not ask an unavailable store once per row.
        if (Problem.is(last, 'unavailable')) throw last
      }
    })
    if (faults.length > 0) throw faults[0]
  }
  const forgetLinks = (now: Date) => db.prisma.snapshotLink.deleteMany({ where: { expiresAt: { lte: now } } })
  /** Gives up insurance snapshots that no job finished. The next one replaces them. */
  const giveUp = (now: Date) =>
    db.prisma.snapshot.updateMany({
      where: {
        state: 'preparing',
        kind: 'insurance',
        createdAt: { lte: new Date(now.getTime() - onDemandFor) },
      },
      data: { state: 'failed', expiresAt: new Date(now.getTime() + failureFor) },
    })

  return {
    /** Runs every minute. */
    async run(ctx: Context): Promise<void> {
      await giveUp(ctx.now)
      while ((await endSome(ctx)) === batch);
      while ((await replaceOld(ctx)) === batch);
      await forgetLinks(ctx.now)
      await finish(ctx.now)
    },
    async insure(ctx: Context): Promise<void> {
      while ((await insureSome(ctx)) === batch);
    },
    sweep: ({ now }: Pick<Context, 'now'>) => sweepRemains(ports, now),
  }
}
