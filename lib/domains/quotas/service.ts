import type { Actor, Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { readOrganisationStorage, readStorage, setStorageQuota } from './contract.ts'
import { type AskStorage, measureStorage, type StorageSubject } from './measuring.ts'
import { shareUsed } from './rules.ts'

/** Storage usage for its owners and for admins. */
export function quotasService(db: Database) {
  async function viewOf(organisationId: string, subject: StorageSubject, ask: AskStorage) {
    const { bytes, rows, quota, isOverride } = await measureStorage(ask, subject)
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
    const [agent] =
      kind === 'agent'
        ? await db.query<{ network: string | null }>(
            'storage-network',
            "SELECT encode(network, 'hex') AS network FROM agents WHERE id = $1 AND owner_id IS NULL AND tier = 'free'",
            [id],
          )
        : []
    return agent?.network ? { kind: 'network', id: agent.network } : { kind: 'organisation', id: organisationId }
  }
  async function refuseUnknown(tx: Pick<Transaction, 'organisation'>, id: string): Promise<void> {
    if ((await tx.organisation.count({ where: { id } })) === 0)
      throw new Problem('not_found', 'There is no such organisation.')
  }
  const ask: AskStorage = (name, text, values) => db.query(name, text, values)

  return {
    own: read(readStorage, async ({ actor }) => ({
      resourceId: actor.organisationId ?? 'nobody',
      body: { data: await viewOf(actor.organisationId ?? '', await subjectOf(actor), ask) },
    })),

    ofOrganisation: read(readOrganisationStorage, async (_ctx, { params: { id } }) => {
      await refuseUnknown(db.prisma, id)
      return { resourceId: id, body: { data: await viewOf(id, { kind: 'organisation', id }, ask) } }
    }),

    setQuota: mutation(setStorageQuota, async ({ tx }, { params: { id }, body }) => {
      await refuseUnknown(tx, id)
      await tx.organisation.update({
        where: { id },
        data: { quotaBytes: body.bytes, quotaRows: body.rows },
      })
      return {
        resourceId: id,
        body: {
          data: await viewOf(id, { kind: 'organisation', id }, (_name, text, values) =>
            tx.$queryRawUnsafe(text, ...values),
          ),
        },
        details: { fields: ['quota_bytes', 'quota_rows'] },
      }
    }),
  }
}
