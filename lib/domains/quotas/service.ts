import { z } from 'zod'
import { accountDirectory, organisationExists, organisationIdsWithPeople } from '#lib/domains/accounts/queries.ts'
import { enqueueNotice, noteStorageWarning, setStorageQuota as storeQuota } from '#lib/domains/accounts/writes.ts'
import type { Actor, Transaction } from '#lib/kernel/context.ts'
import { job } from '#lib/kernel/job.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { guardEndOfAccess, mutation, read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { canStopWrites, measureStorage, type StorageSubject, shareUsed, warnFrom } from './admission.ts'
import { readOrganisationStorage, readStorage, setStorageQuota } from './contract.ts'
import { mergeStorageCounts, sharedNetworkOf } from './repository.ts'

/** Storage usage for its owners and for admins. */
function quotasService(db: Database) {
  const viewOf = (
    organisationId: string,
    { kind }: StorageSubject,
    { bytes, rows, quota, isOverride }: Awaited<ReturnType<typeof measureStorage>>,
  ) => ({
    organisation_id: organisationId,
    shared_by_network: kind === 'network',
    bytes_used: bytes,
    bytes_limit: quota.bytes,
    rows_used: rows,
    rows_limit: quota.rows,
    percent_used: Math.min(Math.floor(shareUsed({ bytes, rows }, quota) * 100), 1_000_000),
    is_override: isOverride,
  })
  async function subjectOf({ kind, id, organisationId = '' }: Actor): Promise<StorageSubject> {
    const [agent] = kind === 'agent' ? await sharedNetworkOf(db, { agent: id }) : []
    return agent?.network ? { kind: 'network', id: agent.network } : { kind: 'organisation', id: organisationId }
  }
  async function refuseUnknown(tx: Transaction, id: string): Promise<void> {
    if (!(await organisationExists(tx, id))) throw new Problem('not_found', 'This organization does not exist.')
  }

  return {
    own: read(readStorage, async ({ actor }) => {
      const subject = await subjectOf(actor)
      return {
        resourceId: actor.organisationId ?? 'nobody',
        body: { data: viewOf(actor.organisationId ?? '', subject, await measureStorage(db, subject)) },
      }
    }),

    ofOrganisation: read(readOrganisationStorage, async (_ctx, { params: { id } }) => {
      await refuseUnknown(db.prisma, id)
      const subject = { kind: 'organisation', id } as const
      return { resourceId: id, body: { data: viewOf(id, subject, await measureStorage(db, subject)) } }
    }),

    setQuota: mutation(setStorageQuota, async (ctx, { params: { id }, body }) => {
      const { tx } = ctx
      await refuseUnknown(tx, id)
      const subject = { kind: 'organisation', id } as const
      const before = await measureStorage(tx, subject)
      await storeQuota(tx, id, body)
      const after = await measureStorage(tx, subject)
      guardEndOfAccess(
        ctx,
        canStopWrites(before, before.quota, after.quota),
        'set a storage quota that can stop the writes of an organization',
      )
      return {
        resourceId: id,
        body: { data: viewOf(id, subject, after) },
        details: { fields: ['quota_bytes', 'quota_rows'] },
      }
    }),
  }
}

/** Agents or projects per statement. */
const batch = 200

/** Warns the people of an organization who can act, within the transaction. */
async function warn(tx: Transaction, organisationId: string, percent: number, now: Date): Promise<void> {
  for (const accountId of await accountDirectory.decidersOf(tx, organisationId))
    await enqueueNotice(tx, { kind: 'storage-warning', accountId, percent, at: now })
}

function quotasJobs(db: Database) {
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

/** Storage quotas of organizations and unclaimed agents. */
export const quotasModule = (db: Database) => ({ useCases: { quotas: quotasService(db) }, jobs: quotasJobs(db) })
