import type { SnapshotPorts } from './ports.ts'
import { namedObjects } from './repository.ts'

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
    const kept = new Set(rows.map(({ key }) => key))
    const orphans: string[] = []
    for (const key of ours)
      if (!kept.has(key) && (await objects.versions(key)).every(({ at }) => at < before)) orphans.push(key)
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
export const sweepRemains = async (
  ports: Pick<SnapshotPorts, 'db' | 'keys' | 'objects' | 'areObjectsOurs'>,
  now: Date,
): Promise<{ keys: number; objects: number }> => ({
  keys: await sweepKeys(ports, now),
  objects: await sweepObjects(ports, now),
})
