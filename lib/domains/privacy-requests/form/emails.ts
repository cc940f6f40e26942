import { kindNames as chineseKindNames } from '#lib/domains/privacy-requests/emails/emails-chinese.ts'
import { kindNames as englishKindNames } from '#lib/domains/privacy-requests/emails/emails-english.ts'
import type { RequestLocale } from '#lib/domains/privacy-requests/ports.ts'
import type { RequestKind } from '#lib/domains/privacy-requests/rules.ts'
import { type EmailContent, emailContent, emailTime } from '#lib/stores/mail/email-content.ts'

/**
 * Builds the email with the link that confirms the address of a request from the form. It names the kind and the time, so that people
 * recognise their own request among others, and repeats no text that was entered.
 */
export const confirmFormEmail = (
  locale: RequestLocale,
  { origin, link, kind, sentAt }: { origin: string; link: string; kind: RequestKind; sentAt: Date },
): EmailContent =>
  locale === 'zh'
    ? emailContent(locale, '请确认您的隐私请求', [
        `有人在 ${new URL(origin).host} 用这个邮箱地址提交了一份隐私请求：${chineseKindNames[kind]}，提交于 ${emailTime(sentAt)}。仅当这是您本人提交的请求时，请打开下面的页面并点击按钮确认。链接只能使用一次，24 小时内有效。`,
        link,
        '如果与您无关，请忽略此邮件。未经确认的请求会在 24 小时后删除。',
      ])
    : emailContent(locale, 'Confirm your privacy request', [
        `Somebody sent a privacy request with this email address at ${new URL(origin).host}: ${englishKindNames[kind]}, sent at ${emailTime(sentAt)}. If this is your request, open this page and press the button. The link works once, within 24 hours.`,
        link,
        'If it was not you, ignore this email. An unconfirmed request is deleted after 24 hours.',
      ])

/** Builds the email with the links to the status pages of the open requests of an address. */
export const statusLinksEmail = (locale: RequestLocale, links: readonly string[]): EmailContent =>
  locale === 'zh'
    ? emailContent(locale, '您的隐私请求的状态', [
        '您索取了隐私请求状态页的链接。持有链接的人都能看到请求的状态，请不要转发。',
        ...links,
        '如果与您无关，请忽略此邮件。',
      ])
    : emailContent(locale, 'Status of your privacy requests', [
        'You asked for the links to the status pages of your privacy requests. Anyone with a link can see the status, so do not forward this email.',
        ...links,
        'If it was not you, ignore this email.',
      ])
