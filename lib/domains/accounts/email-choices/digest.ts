import { z } from 'zod'
import { enqueue } from '#lib/jobs/queue.ts'
import { job } from '#lib/kernel/job.ts'
import { type EmailSections, emailTime as time } from '#lib/stores/mail/email-content.ts'
import { storeNames } from '../mails.ts'
import { accountDirectory } from '../queries.ts'
import type { Locale } from '../rules.ts'
import type { EmailKind } from './rules.ts'
import type { OptionalEmails } from './service.ts'

/** A section in the language of the recipient; undefined when nothing needs attention. */
type DigestSource = (now: Date) => Promise<((locale: Locale) => EmailSections[number]) | undefined>
interface DigestDeps {
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

type DigestSection = EmailSections[number]

/** Stores for which erasures wait. */
export function outagesSection(
  locale: Locale,
  stores: readonly { store: string; runs: number; since: Date; isRefusing: boolean }[],
  page: string,
): DigestSection {
  const lines = stores.map(({ store, runs, since, isRefusing }) => {
    const name = storeNames[locale][store] ?? store
    return locale === 'zh'
      ? `${name}：${isRefusing ? '拒绝执行' : '没有响应'}，自 ${time(since)} 起有 ${runs} 个删除任务等待。`
      : `${name}: ${isRefusing ? 'rejects erasures' : 'does not respond'}. ${runs === 1 ? 'One erasure waits' : `${runs} erasures wait`} since ${time(since)}.`
  })
  return {
    subject: locale === 'zh' ? '删除任务正在等待数据存储' : 'Erasures wait for stores',
    paragraphs: [...lines, page],
  }
}

/** Compliance checks that fail or need attention. */
export const controlsSection = (
  locale: Locale,
  { fails, attention }: { fails: number; attention: number },
  page: string,
): DigestSection =>
  locale === 'zh'
    ? { subject: '合规检查未通过', paragraphs: [`未通过：${fails}。需要关注：${attention}。`, page] }
    : {
        subject: 'Compliance checks need attention',
        paragraphs: [`Failing: ${fails}. Need attention: ${attention}.`, page],
      }

/** Content in quarantine. */
export const safetySection = (locale: Locale, count: number, page: string): DigestSection =>
  locale === 'zh'
    ? { subject: '隔离内容等待审核', paragraphs: [`等待审核的隔离内容：${count}。`, page] }
    : {
        subject: 'Quarantined content waits for a review',
        paragraphs: [`Items in quarantine: ${count}.`, page],
      }
