import { z } from 'zod'
import { enqueue } from '#lib/jobs/queue.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { storedTime } from '#lib/kernel/operation.ts'
import { storeRefusals } from '#lib/kernel/store-refusal.ts'
import { accountDirectory } from './queries.ts'
import { deleteIfEmpty, dropReadNotices, storeReadNotices } from './repository.ts'

const plain = { accountId: z.string(), at: storedTime }

/** A notice to a person, which contains only ids. The email is written when it is sent, in the person's current language. */
export const AccountNotice = z.discriminatedUnion('kind', [
  /** The rate limiter revoked a token of one of the person's agents, and `descendants` tokens that were created with it. */
  z.strictObject({
    kind: z.literal('token-revoked'),
    keyPrefix: z.string(),
    descendants: z.int().positive().exactOptional(),
    ...plain,
  }),
  /** An admin issued a token for an agent of the person. */
  z.strictObject({ kind: z.literal('token-issued'), keyPrefix: z.string(), ...plain }),
  /** An admin exported the data of an agent of the person, with its private content. */
  z.strictObject({ kind: z.literal('data-exported'), agentId: z.string(), ...plain }),
  /** The organization has used most of its storage quota. */
  z.strictObject({ kind: z.literal('storage-warning'), percent: z.int(), ...plain }),
  /** The operator set a one-time password. */
  z.strictObject({ kind: z.literal('password-reset'), ...plain }),
  z.strictObject({ kind: z.literal('invitation'), ...plain }),
  z.strictObject({ kind: z.literal('reset-link'), by: z.enum(['admin', 'anybody']), ...plain }),
  z.strictObject({ kind: z.literal('password-set'), ...plain }),
  z.strictObject({ kind: z.literal('identity-linked'), ...plain }),
  /** A second factor was added or removed, or an admin removed all of them. */
  z.strictObject({
    kind: z.literal('second-factor'),
    change: z.enum(['added', 'removed', 'removed-by-admin', 'codes-renewed']),
    ...plain,
  }),
  /** An admin asks for a second factor, which is or becomes required. */
  z.strictObject({ kind: z.literal('second-factor-reminder'), requiredFrom: storedTime, ...plain }),
  /** To an admin: something that waited was not done, because the account that ordered it has lost the right to. */
  z.strictObject({
    kind: z.literal('order-withdrawn'),
    order: z.enum(['retention', 'closing']),
    projectId: z.string().exactOptional(),
    ...plain,
  }),
  /** To an admin: another admin proposed an action that needs an approval. */
  z.strictObject({ kind: z.literal('approval-requested'), ...plain }),
  /** To the admin who proposed an action: another admin decided. */
  z.strictObject({ kind: z.literal('approval-decided'), decision: z.enum(['approved', 'rejected']), ...plain }),
  /** To an admin: erasures wait for a store that does not answer. */
  z.strictObject({
    kind: z.literal('store-unavailable'),
    store: z.string(),
    runs: z.number().int().positive(),
    since: storedTime,
    ...plain,
  }),
  /** Tells an admin that a store answers but rejects the requests of erasures. */
  z.strictObject({
    kind: z.literal('store-refuses'),
    store: z.string(),
    runs: z.number().int().positive(),
    since: storedTime,
    refusal: z.enum(storeRefusals),
    ...plain,
  }),
])
export type AccountNotice = z.output<typeof AccountNotice>
export const noticeJob = 'accounts.notify'

/** Enqueues a notice, which is sent only if the transaction commits. */
export const enqueueNotice = (tx: Transaction, notice: AccountNotice): Promise<void> =>
  enqueue(tx, noticeJob, AccountNotice.encode(notice), { maxAttempts: 12 })

/** Tells the admins that something that waited was not done, because the account that ordered it has lost the right to. */
export async function reportWithdrawn(
  tx: Transaction,
  withdrawn: { order: 'retention' } | { order: 'closing'; projectId: string },
  now: Date,
): Promise<void> {
  for (const { accountId } of await accountDirectory.adminContacts(tx))
    await enqueueNotice(tx, { kind: 'order-withdrawn', ...withdrawn, accountId, at: now })
}

/** Creates an organization and returns its id. */
export async function createOrganisation(tx: Transaction, name: string, now: Date): Promise<string> {
  const { id } = await tx.organisation.create({ data: { id: newId('org'), name, createdAt: now } })
  return id
}

/** Deletes an organization without people and agents. */
export const dropOrganisationIfEmpty = (tx: Transaction, id: string): Promise<unknown> => deleteIfEmpty(tx, { id })

/** Sets the quota that replaces the quota of the tier; null restores it. */
export const setStorageQuota = (
  tx: Transaction,
  id: string,
  { bytes, rows }: { bytes: number | null; rows: number | null },
): Promise<unknown> => tx.organisation.update({ where: { id }, data: { quotaBytes: bytes, quotaRows: rows } })

/** Records since when the storage is nearly full; null when it no longer is. Returns true when that changed. */
export async function noteStorageWarning(tx: Transaction, id: string, since: Date | null): Promise<boolean> {
  const { count } = await tx.organisation.updateMany({
    where: { id, storageWarnedAt: since === null ? { not: null } : null },
    data: { storageWarnedAt: since },
  })
  return count > 0
}

/** Notes that the person has read notifications, and forgets those that no longer exist. */
export async function noteReadNotices(
  tx: Transaction,
  accountId: string,
  { read, existing }: { read: readonly string[]; existing: readonly string[] },
  now: Date,
): Promise<void> {
  await dropReadNotices(tx, { account: accountId, notices: existing })
  await storeReadNotices(tx, { account: accountId, ids: read.map(() => newId('ntc')), notices: read, now })
}
