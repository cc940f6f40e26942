import type { Locale } from '#lib/domains/accounts/rules.ts'
import { type EmailContent, emailContent, emailTime as time } from '#lib/stores/mail/email-content.ts'

type FactorChange = 'added' | 'removed' | 'removed-by-admin' | 'codes-renewed'
const texts: Record<Locale, Record<FactorChange, { subject: string; happened: (at: string) => string }>> = {
  en: {
    added: {
      subject: 'A second factor was added to your account',
      happened: (at) => `A second factor was added to your sign-in at ${at}.`,
    },
    removed: {
      subject: 'A second factor was removed from your account',
      happened: (at) => `A second factor was removed from your sign-in at ${at}.`,
    },
    'codes-renewed': {
      subject: 'Your recovery codes were replaced',
      happened: (at) => `The recovery codes of your sign-in were replaced at ${at}. The former ones no longer work.`,
    },
    'removed-by-admin': {
      subject: 'An admin removed your second factors',
      happened: (at) =>
        `An admin removed all second factors and recovery codes from your sign-in at ${at}. Your password still works.`,
    },
  },
  zh: {
    added: { subject: '您的账户添加了两步验证', happened: (at) => `您的账户已于 ${at} 添加一种两步验证方式。` },
    removed: { subject: '您的账户移除了两步验证', happened: (at) => `您的账户已于 ${at} 移除一种两步验证方式。` },
    'codes-renewed': {
      subject: '您的恢复码已更换',
      happened: (at) => `您账户的恢复码已于 ${at} 更换，原有的恢复码不再有效。`,
    },
    'removed-by-admin': {
      subject: '管理员移除了您的两步验证',
      happened: (at) => `管理员已于 ${at} 移除您账户的全部两步验证方式和恢复码。您的密码仍然有效。`,
    },
  },
}

/** The email to a person whose second factors changed. */
export function secondFactorMail(
  locale: Locale,
  { url, at, change }: { url: string; at: Date; change: FactorChange },
): EmailContent {
  const { subject, happened } = texts[locale][change]
  return emailContent(locale, subject, [
    happened(time(at)),
    locale === 'zh'
      ? '如果这不是您的操作，请立即更改密码、结束其他会话，并联系管理员。'
      : 'If you did not expect this, change your password, end your other sessions, and contact an admin.',
    `${url}/account`,
  ])
}

/** The email that asks a person for a second factor, which is or becomes required. */
export function secondFactorReminderMail(
  locale: Locale,
  { url, at, requiredFrom }: { url: string; at: Date; requiredFrom: Date },
): EmailContent {
  const isAhead = requiredFrom > at
  const page = `${url}/account/second-factor`
  return locale === 'zh'
    ? emailContent(locale, '请为您的账户添加两步验证', [
        isAhead
          ? `自 ${time(requiredFrom)} 起，您的账户必须启用两步验证。届时若仍未添加，登录后只能添加两步验证，以及查阅、导出、删除您自己的数据。`
          : `自 ${time(requiredFrom)} 起，您的账户必须启用两步验证。在添加之前，登录后只能添加两步验证，以及查阅、导出、删除您自己的数据。`,
        '请在此处添加通行密钥或身份验证器应用：',
        page,
      ])
    : emailContent(locale, 'Add a second factor to your account', [
        isAhead
          ? `Your account must have a second factor from ${time(requiredFrom)}. Without one, you can then only add one, and see, export and delete your own data.`
          : `Your account must have a second factor since ${time(requiredFrom)}. Until you add one, you can only do that, and see, export and delete your own data.`,
        'Add a passkey or an authenticator app here:',
        page,
      ])
}
