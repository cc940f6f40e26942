import { storeNames } from '#lib/domains/accounts/mails.ts'
import type { Locale } from '#lib/domains/accounts/rules.ts'
import { type EmailSections, emailTime as time } from '#lib/stores/mail/email-content.ts'

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
