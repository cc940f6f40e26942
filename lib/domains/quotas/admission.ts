import type { TierName } from '#lib/domains/tokens/rules.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { Queryable } from '#lib/stores/postgres/statement.ts'
import { storageOfNetwork, storageOfOrganisation } from './repository.ts'

/** Storage limits. Null: unlimited. */
interface StorageQuota {
  bytes: number | null
  rows: number | null
}
export interface StorageUsage {
  bytes: number
  rows: number
}

const mebibyte = 1024 ** 2
const tierQuotas: Record<TierName, StorageQuota> = {
  free: { bytes: 100 * mebibyte, rows: 10_000 },
  pro: { bytes: 5 * 1024 * mebibyte, rows: 1_000_000 },
  enterprise: { bytes: null, rows: null },
}
/** The used share from which people are warned. */
export const warnFrom = 0.8
/** A measurement is reused for this long (milliseconds), while at least this share of the quota is free. */
const measuredFor = 5_000
const ampleShare = 0.1

/** The larger used share of bytes and rows. 0 without a limit. */
export function shareUsed(use: StorageUsage, quota: StorageQuota): number {
  const share = (used: number, limit: number | null) =>
    limit === null ? 0 : limit === 0 ? Number.POSITIVE_INFINITY : used / limit
  return Math.max(share(use.bytes, quota.bytes), share(use.rows, quota.rows))
}

/**
 * Whether a change from one quota to another can soon stop writes: a limit becomes smaller, and is less than twice the present use or less than
 * the free quota.
 */
export function canStopWrites(use: StorageUsage, from: StorageQuota, to: StorageQuota): boolean {
  const isTight = (of: keyof StorageQuota): boolean => {
    const [before, after] = [from[of], to[of]]
    if (after === null || (before !== null && after >= before)) return false
    return after < Math.max(2 * use[of], tierQuotas.free[of] ?? 0)
  }
  return isTight('bytes') || isTight('rows')
}

/** Whether `more` exceeds a limit. At the limit, writes without additional bytes or rows are still allowed. */
const exceeds = (use: StorageUsage, more: StorageUsage, { bytes, rows }: StorageQuota): boolean =>
  (bytes !== null && more.bytes > 0 && use.bytes + more.bytes > bytes) ||
  (rows !== null && more.rows > 0 && use.rows + more.rows > rows)

/** The subject of a quota: an organization, or the unclaimed agents of one network (keyed hash, hexadecimal). */
export interface StorageSubject {
  kind: 'organisation' | 'network'
  id: string
}
interface Measured extends StorageUsage {
  quota: StorageQuota
  /** Whether an admin set the quota. */
  isOverride: boolean
}

/** Current storage and quota of a subject, from the counts that triggers maintain. */
export async function measureStorage(on: Queryable, { kind, id }: StorageSubject): Promise<Measured> {
  if (kind === 'network') {
    const [row] = await storageOfNetwork(on, { network: id })
    return { bytes: row?.bytes ?? 0, rows: row?.rows ?? 0, quota: tierQuotas.free, isOverride: false }
  }
  const [row] = await storageOfOrganisation(on, { organisation: id })
  const ofTier = tierQuotas[row?.tier ?? 'free']
  return {
    bytes: row?.bytes ?? 0,
    rows: row?.rows ?? 0,
    quota: { bytes: row?.quota_bytes ?? ofTier.bytes, rows: row?.quota_rows ?? ofTier.rows },
    isOverride: (row?.quota_bytes ?? row?.quota_rows ?? null) !== null,
  }
}

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
interface StorageStatus {
  /** `ended`: its value when the measurement began. Writes that ended later may be missing in the measurement, so they are added. */
  last?: Measured & { at: number; ended: StorageUsage }
  asking?: Promise<Measured & { ended: StorageUsage }> | undefined
  active: StorageUsage
  /** The sum of all ended writes. */
  ended: StorageUsage
}

/** Maximum number of subjects in memory. */
const maxKnown = 10_000
const nothing: StorageUsage = { bytes: 0, rows: 0 }
const plus = (one: StorageUsage, other: StorageUsage) => ({
  bytes: one.bytes + other.bytes,
  rows: one.rows + other.rows,
})
const minus = (one: StorageUsage, other: StorageUsage) => ({
  bytes: one.bytes - other.bytes,
  rows: one.rows - other.rows,
})

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
  const statuses = new Map<string, StorageStatus>()

  function statusOf({ kind, id }: StorageSubject): StorageStatus {
    const key = `${kind}:${id}`
    const status = statuses.get(key) ?? { active: nothing, ended: nothing }
    // Reinsert as the newest entry. The oldest is evicted first.
    statuses.delete(key)
    statuses.set(key, status)
    for (const [oldest, { active, asking }] of statuses) {
      if (statuses.size <= maxKnown) break
      if (active.bytes === 0 && active.rows === 0 && !asking) statuses.delete(oldest)
      else break
    }
    return status
  }
  async function measure(subject: StorageSubject, status: StorageStatus) {
    const { ended } = status
    try {
      const last = { ...(await measureStorage(db, subject)), at: performance.now(), ended }
      status.last = last
      return last
    } finally {
      status.asking = undefined
    }
  }
  const usedOf = (status: StorageStatus, found: Measured & { ended: StorageUsage }): StorageUsage =>
    plus(plus(found, minus(status.ended, found.ended)), status.active)

  /** Checks and reserves without an await in between, so that of two writes with one measurement the second sees the first. */
  async function take(subject: StorageSubject, status: StorageStatus, more: StorageUsage): Promise<number> {
    const { last } = status
    const isAmple =
      last !== undefined &&
      performance.now() - last.at < measuredFor &&
      shareUsed(plus(usedOf(status, last), more), last.quota) < 1 - ampleShare
    if (!isAmple) status.asking ??= measure(subject, status)
    const found = isAmple ? last : await status.asking
    if (!found) throw new Error('No measurement of the storage exists, although one has just ended.')
    const used = usedOf(status, found)
    if (exceeds(used, more, found.quota)) throw exceeded(subject, { ...found, ...used })
    status.active = plus(status.active, more)
    return shareUsed(plus(used, more), found.quota)
  }

  return {
    /** @throws Problem `quota_exceeded` (413) */
    async admit(subject: StorageSubject, wanted: StorageUsage): Promise<AdmittedWrite> {
      const status = statusOf(subject)
      const share = await take(subject, status, wanted)
      let own = wanted
      return {
        warning: share >= warnFrom ? Math.floor(share * 100) : undefined,
        async add(bytes) {
          const more = { bytes, rows: 0 }
          await take(subject, status, more)
          own = plus(own, more)
        },
        end() {
          status.active = minus(status.active, own)
          status.ended = plus(status.ended, own)
        },
      }
    },
  }
}
export type StorageAdmission = ReturnType<typeof storageAdmission>
