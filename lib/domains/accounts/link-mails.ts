import { type EmailContent, emailContent, emailTime as time } from '#lib/stores/mail/email-content.ts'
import type { Locale } from './rules.ts'

/** Builds the URL of a link. The code follows `#`, which browsers do not send to servers. */
const linkTo = (url: string, code: string): string => `${url}/password/new#${code}`

/** The email to an invited person. */
export function invitationMail(
  locale: Locale,
  { url, code, organisation, at }: { url: string; code: string; organisation: string; at: Date },
): EmailContent {
  return locale === 'zh'
    ? emailContent(locale, '邀请您加入 KnowledgePulse', [
        `${organisation} 于 ${time(at)} 邀请您在这个 KnowledgePulse 系统中开设账户：${new URL(url).host}。`,
        '在那里，您可以查看、导出、更正和删除与您本人以及您的智能体有关的数据。',
        '请打开下面的链接设置密码。链接只能使用一次，七天内有效。',
        linkTo(url, code),
        '如果您不认识邀请您的人，请忽略这封信：没有人能用这个账户登录。',
        `我们如何处理您的数据：`,
        `${url}/privacy`,
      ])
    : emailContent(locale, 'You are invited to KnowledgePulse', [
        `${organisation} invited you at ${time(at)} to an account on this installation of KnowledgePulse: ${new URL(url).host}.`,
        'There you can see, export, correct and erase the data about you and your agents.',
        'Open this link and choose a password. It works once, within seven days.',
        linkTo(url, code),
        'If you do not know who invited you, ignore this email: nobody can sign in to the account without the link.',
        'How we process your data:',
        `${url}/privacy`,
      ])
}

/** The email with the link to choose a new password, after somebody requested it. */
export function resetLinkMail(
  locale: Locale,
  { url, code, at }: { url: string; code: string; at: Date },
): EmailContent {
  return locale === 'zh'
    ? emailContent(locale, '设置新密码', [
        `有人于 ${time(at)} 请求为您的账户设置新密码。`,
        '如果是您本人，请打开下面的链接。链接只能使用一次，一小时内有效。设置之后，您的所有登录会话都会结束。',
        linkTo(url, code),
        '如果不是您本人，请忽略这封信：您的密码没有变化。',
      ])
    : emailContent(locale, 'Choose a new password', [
        `Somebody requested a new password for your account at ${time(at)}.`,
        'If it was you, open this link. It works once, within one hour. All your sessions end when you use it.',
        linkTo(url, code),
        'If it was not you, ignore this email. Your password has not changed.',
      ])
}

/** The email to the owner after a link was used. */
export function passwordSetMail(locale: Locale, { url, at }: { url: string; at: Date }): EmailContent {
  return locale === 'zh'
    ? emailContent(locale, '您的密码已设置', [
        `您的账户密码已于 ${time(at)} 通过我们寄给您的链接设置。所有登录会话都已结束。`,
        '如果是您本人，无需再做什么，用新密码登录即可。',
        '如果不是您本人，说明有人能读到您的邮件：请先保护好邮箱，再在这里请求新的链接，并告诉此系统的运营者。',
        `${url}/password/forgotten`,
      ])
    : emailContent(locale, 'Your password was set', [
        `The password of your account was set at ${time(at)}, by a link that we sent you. All sessions have ended.`,
        'If it was you, sign in with the new password.',
        'If it was not you, somebody else can read your email. Secure your mailbox first, then request a new link here and inform the operator of this installation.',
        `${url}/password/forgotten`,
      ])
}

/** The email to the owner after an identity was linked. */
export function identityLinkedMail(
  locale: Locale,
  { url, provider, at }: { url: string; provider: string; at: Date },
): EmailContent {
  return locale === 'zh'
    ? emailContent(locale, '您的账户关联了新的登录方式', [
        `从 ${time(at)} 起，您也可以用 ${provider} 登录您的账户：它确认了您的邮箱地址。`,
        '如果是您本人，无需再做什么。',
        '如果不是您本人，请在“账户”页解除关联，并告诉此系统的运营者。',
        `${url}/account`,
      ])
    : emailContent(locale, 'Another way to sign in was linked to your account', [
        `Since ${time(at)} you can also sign in to your account with ${provider}: it confirmed your email address.`,
        'If it was you, you do not need to do anything.',
        'If it was not you, unlink it on the Account page and inform the operator of this installation.',
        `${url}/account`,
      ])
}
