import { z } from 'zod'
import { job } from '#lib/kernel/job.ts'
import { lettersKept } from '#lib/stores/mail/letters-held.ts'
import type { Letter, MailPort } from '#lib/stores/mail/mail.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { passwordResetMail, tokenRevokedMail } from './mails.ts'
import { Notice, noticeJob } from './notices.ts'
import { endedSessionsKept, knownFor, localeNamed } from './rules.ts'

function letterOf(notice: Notice, locale: string, url: string): Omit<Letter, 'to'> {
  const at = new Date(notice.at)
  switch (notice.kind) {
    case 'token-revoked':
      return tokenRevokedMail(localeNamed(locale), { url, keyPrefix: notice.keyPrefix, at })
    case 'password-reset':
      return passwordResetMail(localeNamed(locale), { url, at })
  }
}

/** Rows of ended sessions, marks of where accounts signed in, and letters in the mail folder go when their term is over; notices are written and sent. */
export const accountsJobs = (db: Database, mail: MailPort, publicUrl: string) => [
  job({
    name: 'accounts.upkeep',
    payload: z.unknown(),
    cron: '23 * * * *',
    async run(ctx) {
      const ended = new Date(ctx.now.getTime() - endedSessionsKept)
      await db.query('sessions-purge', 'DELETE FROM sessions WHERE expires_at < $1 OR revoked_at < $1', [ended])
      const forgotten = new Date(ctx.now.getTime() - knownFor)
      await db.query('known-sign-ins-purge', 'DELETE FROM known_sign_ins WHERE last_at < $1', [forgotten])
      await mail.prune(new Date(ctx.now.getTime() - lettersKept))
    },
  }),
  job({
    name: noticeJob,
    payload: Notice,
    async run(_ctx, notice) {
      const account = await db.prisma.account.findUnique({
        where: { id: notice.accountId },
        select: { email: true, locale: true },
      })
      const fenced = await db.query('account-fenced', "SELECT 1 FROM fenced WHERE kind = 'account' AND id = $1", [
        notice.accountId,
      ])
      // Nobody is left to tell, or will be: a letter that is written now would outlive the search for it.
      if (account && fenced.length === 0)
        await mail.send({
          to: account.email,
          about: notice.accountId,
          ...letterOf(notice, account.locale, publicUrl),
        })
    },
  }),
]
