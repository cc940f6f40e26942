import { enqueue } from '#lib/jobs/queue.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { PrivacyParts } from './ports.ts'
import { tellAdminJob } from './timeline.ts'

/** Enqueues an email to every admin with the number of requests; one waiting job for an admin is enough. */
export async function tellAdmins({ people }: Pick<PrivacyParts, 'people'>, tx: Transaction): Promise<void> {
  for (const { accountId } of await people.adminContacts(tx))
    await enqueue(tx, tellAdminJob, { accountId }, { key: `${tellAdminJob}:${accountId}`, maxAttempts: 12 })
}
