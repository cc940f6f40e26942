import { Problem } from '#lib/kernel/problem.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { type Measured, measureStorage, type StorageSubject } from './measuring.ts'
import { ampleShare, exceeds, measuredFor, type StorageUse, shareUsed, warnFrom } from './rules.ts'

/** A running write. */
export interface AdmittedWrite {
  /** Used share of the quota in whole percent, from 80 % on. */
  warning: number | undefined
  /** Adds bytes beyond the announced size. @throws Problem `quota_exceeded` */
  add(bytes: number): Promise<void>
  /** Ends the write. Until then its announced size counts as used. */
  end(): void
}
/** What a process knows about one subject. */
interface Standing {
  /** `ended`: its value when the measurement began. Writes that ended later may be missing in the measurement, so they are added. */
  last?: Measured & { at: number; ended: StorageUse }
  asking?: Promise<Measured & { ended: StorageUse }> | undefined
  underWay: StorageUse
  /** The sum of all ended writes. */
  ended: StorageUse
}

/** Maximum number of subjects in memory. */
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
 * Rejects writes above a quota. A process measures again when its last measurement is older than five seconds or less
 * than a tenth of the quota is free, and adds the announced sizes of its own writes. One process therefore never
 * admits more than the quota. Each further process can exceed it by its writes of five seconds or, near the limit, by
 * its concurrent writes.
 */
export function storageAdmission(db: Database) {
  const standings = new Map<string, Standing>()

  function standingOf({ kind, id }: StorageSubject): Standing {
    const key = `${kind}:${id}`
    const standing = standings.get(key) ?? { underWay: nothing, ended: nothing }
    // Reinsert as the newest entry. The oldest is evicted first.
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

  /** Checks and reserves without an await in between, so that of two writes with one measurement the second sees the first. */
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
    /** @throws Problem `quota_exceeded` (413) */
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
