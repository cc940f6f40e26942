import { z } from 'zod'
import { accountDirectory } from '#lib/domains/accounts/directory.ts'
import type { Locale } from '#lib/domains/accounts/rules.ts'
import { enqueue } from '#lib/jobs/queue.ts'
import { job } from '#lib/kernel/job.ts'
import type { EmailSections } from '#lib/stores/mail/email-content.ts'
import type { OptionalEmails } from './optional-emails.ts'
import type { EmailKind } from './rules.ts'

/** A section in the language of the recipient; undefined when nothing needs attention. */
type DigestSource = (now: Date) => Promise<((locale: Locale) => EmailSections[number]) | undefined>
export interface DigestDeps {
  emails: Pick<OptionalEmails, 'sendDigest'>
  sources: Readonly<Partial<Record<EmailKind, DigestSource>>>
}
export const digestEmailJob = 'accounts.digest-email'

async function sectionsAt(sources: DigestDeps['sources'], now: Date) {
  const found = await Promise.all(
    Object.entries(sources).map(async ([kind, source]) => [kind, await source(now)] as const),
  )
  return Object.fromEntries(found.filter(([, write]) => write !== undefined))
}

/** Once a day, one email to each admin about what needs attention at that time, if they get such emails. */
export const digestJobs = ({ emails, sources }: DigestDeps) => [
  job({
    name: 'accounts.digest',
    payload: z.unknown(),
    cron: '0 6 * * *',
    // A worker that is restarted at that time sends it late instead of a day later.
    catchUp: 12 * 3_600_000,
    async run(ctx) {
      if (Object.keys(await sectionsAt(sources, ctx.now)).length === 0) return
      await ctx.pipeline.transaction(async (tx) => {
        for (const { accountId } of await accountDirectory.adminContacts(tx))
          await enqueue(tx, digestEmailJob, { accountId }, { key: `${digestEmailJob}:${accountId}`, maxAttempts: 12 })
      })
    },
  }),
  job({
    name: digestEmailJob,
    payload: z.strictObject({ accountId: z.string() }),
    async run({ now }, { accountId }) {
      await emails.sendDigest(accountId, await sectionsAt(sources, now))
    },
  }),
]
