import { z } from 'zod'
import { accountDirectory, organisationIdsWithPeople } from '#lib/domains/accounts/queries.ts'
import { enqueueNotice, noteStorageWarning } from '#lib/domains/accounts/writes.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { job } from '#lib/kernel/job.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { measureStorage } from './queries.ts'
import { mergeStorageCounts } from './repository.ts'
import { shareUsed, warnFrom } from './rules.ts'

/** Agents or projects per statement. */
const batch = 200

/** Warns the people of an organization who can act, within the transaction. */
async function warn(tx: Transaction, organisationId: string, percent: number, now: Date): Promise<void> {
  for (const accountId of await accountDirectory.decidersOf(tx, organisationId))
    await enqueueNotice(tx, { kind: 'storage-warning', accountId, percent, at: now.toISOString() })
}

export function quotasJobs(db: Database) {
  /** Warns once each time that usage reaches 80 %. */
  async function warnOf(id: string, now: Date): Promise<void> {
    const subject = { kind: 'organisation', id } as const
    const found = await measureStorage(db, subject)
    const share = shareUsed(found, found.quota)
    const isNearlyFull = share >= warnFrom
    await db.transaction(async (tx) => {
      const hasChanged = await noteStorageWarning(tx, id, isNearlyFull ? now : null)
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
          const ids = await organisationIdsWithPeople(db.prisma, after, 500)
          for (const id of ids) await warnOf(id, now)
          const last = ids.at(-1)
          if (last === undefined) return
          after = last
        }
      },
    }),
  ]
}
