import { Problem } from '#lib/kernel/problem.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { type Measured, measureStorage, type StorageSubject } from './measuring.ts'
import { ampleShare, exceeds, measuredFor, type StorageUse, shareUsed, warnFrom } from './rules.ts'

/** A write that is under way. */
export interface AdmittedWrite {
  /** Set from 80 % on: how much of the quota is used, in whole percent. */
  warning: number | undefined
  /** More bytes arrived than were announced. Throws `quota_exceeded`. */
  add(bytes: number): Promise<void>
  /** The write ended; until it did, what it may store counts. */
  end(): void
}
/** What a process knows of one subject. */
interface Standing {
  /** `ended`: as it was when the measurement began. What ended meanwhile may be in the sum or not, so it counts. */
  last?: Measured & { at: number; ended: StorageUse }
  asking?: Promise<Measured & { ended: StorageUse }> | undefined
  underWay: StorageUse
  /** What all writes stored that ended. */
  ended: StorageUse
}

/** Subjects that a process remembers. */
const mostKnown = 10_000
const nothing: StorageUse = { bytes: 0, rows: 0 }
const plus = (one: StorageUse, other: StorageUse) => ({ bytes: one.bytes + other.bytes, rows: one.rows + other.rows })
const minus = (one: StorageUse, other: StorageUse) => ({ bytes: one.bytes - other.bytes, rows: one.rows - other.rows })

function exceeded({ kind }: StorageSubject, { bytes, rows, quota }: Measured): Problem {
  const limit = [
    ...(quota.bytes === null ? [] : [`${quota.bytes.toLocaleString('en')} bytes`]),
    ...(quota.rows === null ? [] : [`${quota.rows.toLocaleString('en')} records`]),
  ].join(' and ')
  return new Problem('quota_exceeded', {
    status: 413,
    detail:
      kind === 'network'
        ? `Unclaimed agents that registered from one network share a storage quota of ${limit}. Claim the agent in the console, or delete data. Nothing was stored.`
        : `The storage quota of this organization is ${limit}. Delete data, or ask an admin for a larger quota. Nothing was stored.`,
    extensions: {
      storage: { bytes_used: bytes, bytes_limit: quota.bytes, rows_used: rows, rows_limit: quota.rows },
    },
  })
}

/**
 * Refuses writes above a quota. A process measures when its last measurement is older than five seconds, or when less than a tenth of the
 * quota is free; it adds what its own writes announce. By the sizes that writes
 * announce, one process therefore never admits more than the quota. Each further process can admit as much as its requests announce within
 * five seconds, and near the limit what is under way at the same moment.
 */
export function storageAdmission(db: Database) {
  const standings = new Map<string, Standing>()

  function standingOf({ kind, id }: StorageSubject): Standing {
    const key = `${kind}:${id}`
    const standing = standings.get(key) ?? { underWay: nothing, ended: nothing }
    // The newest last: the oldest is forgotten first.
    standings.delete(key)
    standings.set(key, standing)
    for (const [oldest, { underWay, asking }] of standings) {
      if (standings.size <= mostKnown) break
      if (underWay.bytes === 0 && underWay.rows === 0 && !asking) standings.delete(oldest)
      else break
    }
    return standing
  }
  async function measure(subject: StorageSubject, standing: Standing) {
    const { ended } = standing
    try {
      const last = {
        ...(await measureStorage((name, text, values) => db.query(name, text, values), subject)),
        at: performance.now(),
        ended,
      }
      standing.last = last
      return last
    } finally {
      standing.asking = undefined
    }
  }
  const usedOf = (standing: Standing, found: Measured & { ended: StorageUse }): StorageUse =>
    plus(plus(found, minus(standing.ended, found.ended)), standing.underWay)

  /** Checks and takes without a pause in between: of two that share a measurement, the second sees what the first took. */
  async function take(subject: StorageSubject, standing: Standing, more: StorageUse): Promise<number> {
    const { last } = standing
    const isAmple =
      last !== undefined &&
      performance.now() - last.at < measuredFor &&
      shareUsed(plus(usedOf(standing, last), more), last.quota) < 1 - ampleShare
    if (!isAmple) standing.asking ??= measure(subject, standing)
    const found = isAmple ? last : await standing.asking
    if (!found) throw new Error('the storage was not measured')
    const used = usedOf(standing, found)
    if (exceeds(used, more, found.quota)) throw exceeded(subject, { ...found, ...used })
    standing.underWay = plus(standing.underWay, more)
    return shareUsed(plus(used, more), found.quota)
  }

  return {
    /** Throws `quota_exceeded` (413). */
    async admit(subject: StorageSubject, wanted: StorageUse): Promise<AdmittedWrite> {
      const standing = standingOf(subject)
      const share = await take(subject, standing, wanted)
      let own = wanted
      return {
        warning: share >= warnFrom ? Math.floor(share * 100) : undefined,
        async add(bytes) {
          const more = { bytes, rows: 0 }
          await take(subject, standing, more)
          own = plus(own, more)
        },
        end() {
          standing.underWay = minus(standing.underWay, own)
          standing.ended = plus(standing.ended, own)
        },
      }
    },
  }
}
export type StorageAdmission = ReturnType<typeof storageAdmission>
