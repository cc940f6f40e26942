import type { PrivacyDeps, RequestLocale } from '#lib/domains/privacy-requests/ports.ts'
import { countNeedingAttention } from '#lib/domains/privacy-requests/queue/repository.ts'
import { notifyAdminJob } from '#lib/domains/privacy-requests/timeline.ts'
import { enqueue } from '#lib/jobs/queue.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { EmailSections } from '#lib/stores/mail/email-content.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { dueSection } from './emails.ts'

/** Enqueues an email to every admin with the number of requests; one waiting job for an admin is enough. */
export async function notifyAdmins({ people }: Pick<PrivacyDeps, 'people'>, tx: Transaction): Promise<void> {
  for (const { accountId } of await people.adminContacts(tx))
    await enqueue(tx, notifyAdminJob, { accountId }, { key: `${notifyAdminJob}:${accountId}`, maxAttempts: 12 })
}

/** The numbers of requests that are nearly due, overdue or failed. */
export async function needingAttention(
  db: Database,
  now: Date,
): Promise<{ near: number; overdue: number; failed: number }> {
  const [counts] = await countNeedingAttention(db, { now })
  return counts ?? { near: 0, overdue: 0, failed: 0 }
}

/** The section of the daily digest of admins; undefined when no request needs attention. */
export async function dueSectionAt(
  { db, origin }: Pick<PrivacyDeps, 'db' | 'origin'>,
  now: Date,
): Promise<((locale: RequestLocale) => EmailSections[number]) | undefined> {
  const counts = await needingAttention(db, now)
  if (counts.near + counts.overdue + counts.failed === 0) return undefined
  return (locale) => dueSection(locale, { ...counts, page: `${origin}/admin/requests?open=true&sort=due` })
}
