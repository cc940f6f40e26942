import { z } from 'zod'
import type { EvidenceCheck } from '#lib/kernel/evidence.ts'
import { job, type RunnableJob } from '#lib/kernel/job.ts'
import type { CacheStore } from '#lib/stores/cache/cache.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { anyHoldInForce } from './repository.ts'

interface LifetimeDeps {
  cache: Pick<CacheStore, 'lifetimes' | 'provider'>
  prefixes: readonly string[]
}
/** Maximum number of keys that the compliance check and the job examine. */
const maxForEvidence = 100_000
const maxForJob = 5_000_000

/** Checks the 24-hour limit for cached data in entries that applications write to the same Redis without our `set`. */
export const cacheEvidence = ({ cache, prefixes }: LifetimeDeps): EvidenceCheck => ({
  line: 'storage_limitation',
  name: 'cache.lifetimes',
  page: null,
  async ask() {
    const { examined, isComplete, unlimited, tooLong, prefixed } = await cache.lifetimes({
      prefixes,
      shorten: false,
      max: maxForEvidence,
    })
    const isFound = unlimited + tooLong > 0 || !isComplete
    return {
      state: cache.provider === 'memory' ? 'not_applicable' : isFound ? 'attention' : 'holds',
      numbers: { examined, unlimited, long: tooLong, prefixed, partial: isComplete ? 0 : 1 },
    }
  },
})

/**
 * Hourly job, if the operator enabled it (KP_CACHE_TTL_LIMIT). It sets no TTL while any legal hold is in force, because holds do not name
 * the keys that they cover.
 */
export const limitLifetimes = ({ db, cache, prefixes }: LifetimeDeps & { db: Database }): RunnableJob =>
  job({
    name: 'cache.limit-lifetimes',
    payload: z.unknown(),
    cron: '37 * * * *',
    async run({ pipeline, actor, now }) {
      const holds = await anyHoldInForce(db, { now })
      if (holds.length > 0 || prefixes.length === 0) return
      const { shortened } = await cache.lifetimes({ prefixes, shorten: true, max: maxForJob })
      if (shortened === 0) return
      await pipeline.auditGrouped({
        action: 'update',
        actorId: actor.id,
        resourceType: 'cache',
        resourceId: 'keys',
        at: now,
        ip: '',
        details: { shortened },
      })
    },
  })
