import type { PrivacyDeps } from '#lib/domains/privacy-requests/ports.ts'
import { notifyAdminJob } from '#lib/domains/privacy-requests/timeline.ts'
import { enqueue } from '#lib/jobs/queue.ts'
import type { Transaction } from '#lib/kernel/context.ts'

/** Enqueues an email to every admin with the number of requests; one waiting job for an admin is enough. */
export async function notifyAdmins({ people }: Pick<PrivacyDeps, 'people'>, tx: Transaction): Promise<void> {
  for (const { accountId } of await people.adminContacts(tx))
    await enqueue(tx, notifyAdminJob, { accountId }, { key: `${notifyAdminJob}:${accountId}`, maxAttempts: 12 })
}
