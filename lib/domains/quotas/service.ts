import { organisationExists } from '#lib/domains/accounts/queries.ts'
import { setStorageQuota as storeQuota } from '#lib/domains/accounts/writes.ts'
import type { Actor, Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { Queryable } from '#lib/stores/postgres/statement.ts'
import { readOrganisationStorage, readStorage, setStorageQuota } from './contract.ts'
import { measureStorage, type StorageSubject } from './queries.ts'
import { sharedNetworkOf } from './repository.ts'
import { shareUsed } from './rules.ts'

/** Storage usage for its owners and for admins. */
export function quotasService(db: Database) {
  async function viewOf(organisationId: string, subject: StorageSubject, on: Queryable) {
    const { bytes, rows, quota, isOverride } = await measureStorage(on, subject)
    return {
      organisation_id: organisationId,
      shared_by_network: subject.kind === 'network',
      bytes_used: bytes,
      bytes_limit: quota.bytes,
      rows_used: rows,
      rows_limit: quota.rows,
      percent_used: Math.min(Math.floor(shareUsed({ bytes, rows }, quota) * 100), 1_000_000),
      is_override: isOverride,
    }
  }
  async function subjectOf({ kind, id, organisationId = '' }: Actor): Promise<StorageSubject> {
    const [agent] = kind === 'agent' ? await sharedNetworkOf(db, { agent: id }) : []
    return agent?.network ? { kind: 'network', id: agent.network } : { kind: 'organisation', id: organisationId }
  }
  async function refuseUnknown(tx: Transaction, id: string): Promise<void> {
    if (!(await organisationExists(tx, id))) throw new Problem('not_found', 'This organization does not exist.')
  }

  return {
    own: read(readStorage, async ({ actor }) => ({
      resourceId: actor.organisationId ?? 'nobody',
      body: { data: await viewOf(actor.organisationId ?? '', await subjectOf(actor), db) },
    })),

    ofOrganisation: read(readOrganisationStorage, async (_ctx, { params: { id } }) => {
      await refuseUnknown(db.prisma, id)
      return { resourceId: id, body: { data: await viewOf(id, { kind: 'organisation', id }, db) } }
    }),

    setQuota: mutation(setStorageQuota, async ({ tx }, { params: { id }, body }) => {
      await refuseUnknown(tx, id)
      await storeQuota(tx, id, body)
      return {
        resourceId: id,
        body: { data: await viewOf(id, { kind: 'organisation', id }, tx) },
        details: { fields: ['quota_bytes', 'quota_rows'] },
      }
    }),
  }
}
