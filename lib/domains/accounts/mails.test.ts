import { expect, test } from 'vitest'
import { passwordResetMail, tokenRevokedMail } from './mails.ts'

const at = new Date('2026-01-31T12:34:56Z')
const url = 'https://registry.example'
const letters = (['en', 'zh'] as const).flatMap((locale) => [
  { locale, letter: passwordResetMail(locale, { url, at }) },
  { locale, letter: tokenRevokedMail(locale, { url, at, keyPrefix: '<b>kp_1' }) },
])

test.each(letters)(
  '$locale: $letter.subject: the same words as text and as HTML, with the time and the link',
  ({ locale, letter }) => {
    const words = letter.html
      .replace(/<title>.*<\/title>|<[^>]+>/g, '')
      .replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(Number(code)))
      .replace(/\s/g, '')
    expect(words).toBe(letter.text.replace(/\s/g, ''))
    expect(letter.text).toContain('2026-01-31 12:34 UTC')
    expect(letter.html).toMatch(/<a href="https:\/\/registry\.example\/(account|sign-in)"/)
    expect(letter.html).toContain(`lang="${locale}"`)
  },
)

test('what comes from outside is text, and no markup', () => {
  for (const { letter } of letters) expect(letter.html).not.toContain('<b>')
  expect(letters.filter(({ letter }) => letter.text.includes('<b>kp_1'))).toHaveLength(2)
})
