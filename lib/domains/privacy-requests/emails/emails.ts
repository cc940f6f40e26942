import type { RequestLocale } from '#lib/domains/privacy-requests/ports.ts'
import { type EmailContent, type EmailSections, emailContent } from '#lib/stores/mail/email-content.ts'
import type { EmailFacts, EmailTimelineEntry, EmailWords } from './email-facts.ts'
import { chinese } from './emails-chinese.ts'
import { english } from './emails-english.ts'

const words: Record<RequestLocale, Record<string, EmailWords>> = { en: english, zh: chinese }

/**
 * Events that are omitted when another event of the same email replaces them: a grace period that is already over, or a
 * failure with a more specific event.
 */
const overtaken: Partial<Record<string, string>> = { waiting: 'running', failed: 'copy_failed' }
const isOvertaken = ({ event }: EmailTimelineEntry, events: readonly EmailTimelineEntry[]): boolean =>
  events.some((other) => other.event === overtaken[event])

/**
 * Builds one email about all events of a request in one transaction. The last event determines the subject line.
 * Undefined when no event has a text.
 */
export function requestEmail(
  locale: RequestLocale,
  events: readonly EmailTimelineEntry[],
  facts: EmailFacts,
): EmailContent | undefined {
  const known = events.flatMap((entry) => {
    const said = words[locale][entry.event]
    return said && !isOvertaken(entry, events) ? [{ said, told: entry }] : []
  })
  const last = known.at(-1)
  if (!last) return undefined
  const { subject } = last.said
  return emailContent(locale, typeof subject === 'string' ? subject : subject(facts), [
    ...known.flatMap(({ said, told: entry }) => said.text(entry, facts)),
    locale === 'zh' ? `请求编号：${facts.id}` : `Request ID: ${facts.id}`,
    ...(facts.page === undefined ? [] : [locale === 'zh' ? '您的账户：' : 'Your account:', facts.page]),
    ...(facts.statusPage === undefined
      ? []
      : [
          locale === 'zh'
            ? '请求状态（持有链接的人都能看到，请不要转发）：'
            : 'Status of your request (anyone with this link can see it, so do not forward it):',
          facts.statusPage,
        ]),
  ])
}

/** Builds the email that asks the reader of the new address to confirm it. */
export const addressEmail = (locale: RequestLocale, link: string): EmailContent =>
  locale === 'zh'
    ? emailContent(locale, '请确认这个邮箱地址', [
        '有人请求将这个地址作为其账户的邮箱。请打开下面的页面并点击按钮确认。链接只能使用一次，一天内有效。',
        link,
        '如果与您无关，请忽略此邮件。未经您确认，账户不会有任何变化。',
      ])
    : emailContent(locale, 'Confirm your email address', [
        'Somebody asked to use this email address for their account. To confirm it, open this page and press the button. The link works once and expires after one day.',
        link,
        'If you did not ask for this, ignore this email. Nothing changes without your confirmation.',
      ])

export interface DeadlineSummary {
  near: number
  overdue: number
  failed: number
  doubted: number
  page: string
}
/** Tells an admin how many requests are nearly due, overdue, failed, or to be confirmed again. It contains only counts. */
export function dueSection(
  locale: RequestLocale,
  { near, overdue, failed, doubted, page }: DeadlineSummary,
): EmailSections[number] {
  const which = overdue > 0 ? 'overdue' : failed > 0 ? 'failed' : doubted > 0 ? 'doubted' : 'near'
  const subjects = {
    en: {
      overdue: 'Privacy requests are overdue',
      failed: 'Privacy requests failed',
      doubted: 'Privacy requests need another confirmation',
      near: 'Privacy requests are due soon',
    },
    zh: {
      overdue: '有隐私请求已逾期',
      failed: '有隐私请求需要重试',
      doubted: '有隐私请求需要重新确认身份',
      near: '有隐私请求即将到期',
    },
  }
  const text =
    locale === 'zh'
      ? `即将到期（剩余不足四分之一的时间）：${near}。已逾期：${overdue}。未能完成、需要重试：${failed}。`
      : `Due soon (less than a quarter of the time remains): ${near}. Overdue: ${overdue}. Failed, retry needed: ${failed}.`
  const again =
    locale === 'zh'
      ? `因确认身份的人员已无权确认而未开始、须由管理员重新确认的删除：${doubted}。`
      : `Deletions that did not begin, because the person who confirmed the identity no longer has the right to do so, and that an admin must confirm: ${doubted}.`
  return { subject: subjects[locale][which], paragraphs: [text, ...(doubted > 0 ? [again] : []), page] }
}
