import type { Email } from './mail.ts'

/** An email without its recipient. */
export type EmailContent = Omit<Email, 'to'>

const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => `&#${character.codePointAt(0)};`)

/**
 * Renders paragraphs as text and as HTML that mail programs render consistently. A link must be a separate paragraph. `language` is a
 * BCP 47 tag.
 */
export function emailContent(language: string, subject: string, paragraphs: readonly string[]): EmailContent {
  const isLink = (text: string) => /^https?:\/\/\S+$/.test(text)
  const html = paragraphs.map((text) => {
    const safe = escapeHtml(text)
    return `<p style="margin:0 0 16px">${isLink(text) ? `<a href="${safe}" style="color:#0f766e">${safe}</a>` : safe}</p>`
  })
  return {
    subject,
    text: `${paragraphs.join('\n\n')}\n\nKnowledgePulse\n`,
    html: `<!doctype html><html lang="${language}"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>${escapeHtml(subject)}</title></head><body style="margin:0;padding:24px;font:16px/1.5 system-ui,sans-serif;max-width:36em">${html.join('')}<p style="margin:0;opacity:.7">KnowledgePulse</p></body></html>`,
  }
}

/** Parts of one email, each with its own subject. */
export type EmailSections = readonly { subject: string; paragraphs: readonly string[] }[]
/** How the recipient turns the email off: a page for people, and an address for mail programs (RFC 8058). */
export interface UnsubscribeAddresses {
  page: string
  oneClick: string
}

const optionalWords = {
  en: {
    digest: (count: number) => `Daily digest: ${count} topics`,
    off: 'Turn these emails off:',
    needed: 'You are the only admin who gets these emails, so they cannot be turned off.',
  },
  zh: {
    digest: (count: number) => `每日摘要：${count} 项`,
    off: '关闭此类邮件：',
    needed: '您是唯一接收此类邮件的管理员，因此无法关闭。',
  },
}

/**
 * An email that its recipient can turn off, with the headers of RFC 2369 and RFC 8058. Mail programs post only to https. Without
 * addresses, it says why it cannot be turned off.
 */
export function optionalEmailContent(
  language: 'en' | 'zh',
  sections: EmailSections,
  unsubscribe: UnsubscribeAddresses | undefined,
): EmailContent {
  const words = optionalWords[language]
  const [first] = sections
  const subject = first && sections.length === 1 ? first.subject : words.digest(sections.length)
  const paragraphs = sections.flatMap((section) =>
    sections.length === 1 ? section.paragraphs : [section.subject, ...section.paragraphs],
  )
  return {
    ...emailContent(language, subject, [
      ...paragraphs,
      ...(unsubscribe ? [words.off, unsubscribe.page] : [words.needed]),
    ]),
    ...(unsubscribe && {
      headers: {
        'List-Unsubscribe': `<${unsubscribe.oneClick}>`,
        ...(unsubscribe.oneClick.startsWith('https:') && { 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' }),
      },
    }),
  }
}

/** A time in the format of emails: to the minute, in UTC. */
export const emailTime = (at: Date): string => `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`
