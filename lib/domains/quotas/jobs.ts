import { z } from 'zod'
import type { Transaction } from '#lib/kernel/context.ts'
import { job } from '#lib/kernel/job.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { measureStorage } from './queries.ts'
import { mergeStorageCounts } from './repository.ts'
import { shareUsed, warnFrom } from './rules.ts'

/** Agents or projects per statement. */
const batch = 200

export interface QuotaJobPorts {
  organisations: {
    /** Ids of the organizations that have people, in order, after `after`. */
    withPeople(tx: Transaction, after: string, limit: number): Promise<string[]>
    /** Records since when the storage is nearly full; null when it no longer is. Returns true when that changed. */
    noteStorageWarning(tx: Transaction, id: string, since: Date | null): Promise<boolean>
  }
  /** Warns the people of an organization who can act, within the transaction. */
  warn(tx: Transaction, organisationId: string, percent: number, now: Date): Promise<unknown>
}

export function quotasJobs(db: Database, { organisations, warn }: QuotaJobPorts) {
  /** Warns once each time that usage reaches 80 %. */
  async function warnOf(id: string, now: Date): Promise<void> {
    const subject = { kind: 'organisation', id } as const
    const found = await measureStorage(db, subject)
    const share = shareUsed(found, found.quota)
    const isNearlyFull = share >= warnFrom
    await db.transaction(async (tx) => {
      const hasChanged = await organisations.noteStorageWarning(tx, id, isNearlyFull ? now : null)
      if (hasChanged && isNearlyFull) await warn(tx, id, Math.floor(share * 100), now)
    })
  }

  return [
    job({
      name: 'quotas.merge-counts',
      payload: z.unknown(),
      cron: '* * * * *',
      async run() {
        for (const owner of ['agent', 'project'] as const)
          while ((await mergeStorageCounts(db, { limit: batch }, owner)) === batch);
      },
    }),
    job({
      name: 'quotas.warn',
      payload: z.unknown(),
      cron: '*/10 * * * *',
      async run({ now }) {
        for (let after = ''; ; ) {
          const ids = await organisations.withPeople(db.prisma, after, 500)
          for (const id of ids) await warnOf(id, now)
          const last = ids.at(-1)
          if (last === undefined) return
          after = last
        }
      },
    }),
  ]
}
