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

/** A time in the format of emails: to the minute, in UTC. */
export const emailTime = (at: Date): string => `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`
