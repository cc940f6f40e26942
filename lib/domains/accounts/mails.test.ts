import { expect, test } from 'vitest'
import {
  dataExportedMail,
  identityLinkedMail,
  invitationMail,
  passwordResetMail,
  passwordSetMail,
  resetLinkMail,
  tokenRevokedMail,
} from './mails.ts'

const at = new Date('2026-01-31T12:34:56Z')
const url = 'https://registry.example'
const emails = (['en', 'zh'] as const).flatMap((locale) => [
  { locale, letter: passwordResetMail(locale, { url, at }) },
  { locale, letter: tokenRevokedMail(locale, { url, at, keyPrefix: '<b>kp_1' }) },
  { locale, letter: dataExportedMail(locale, { url, at, agentId: 'a<b>' }) },
  { locale, letter: invitationMail(locale, { url, at, code: 'c0de', organisation: '<b>Ada & Co' }) },
  { locale, letter: resetLinkMail(locale, { url, at, code: 'c0de' }) },
  { locale, letter: passwordSetMail(locale, { url, at }) },
  { locale, letter: identityLinkedMail(locale, { url, at, provider: '<b>id.example' }) },
])

test.each(emails)(
  '$locale: $letter.subject: text and HTML contain the same words, the time and the link',
  ({ locale, letter: email }) => {
    const words = email.html
      .replace(/<title>.*<\/title>|<[^>]+>/g, '')
      .replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(Number(code)))
      .replace(/\s/g, '')
    expect(words).toBe(email.text.replace(/\s/g, ''))
    expect(email.text).toContain('2026-01-31 12:34 UTC')
    expect(email.html).toMatch(
      /<a href="https:\/\/registry\.example\/(account|settings\/privacy|sign-in|password\/new#c0de|password\/forgotten)"/,
    )
    expect(email.html).toContain(`lang="${locale}"`)
  },
)

test('emails escape external values', () => {
  for (const { letter: email } of emails) expect(email.html).not.toContain('<b>')
  expect(emails.filter(({ letter: email }) => email.text.includes('<b>kp_1'))).toHaveLength(2)
  expect(emails.filter(({ letter: email }) => email.text.includes('<b>'))).toHaveLength(8)
})
