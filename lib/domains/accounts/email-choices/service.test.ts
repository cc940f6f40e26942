import { expect, test } from 'vitest'
import { optionalEmailContent } from '#lib/stores/mail/email-content.ts'
import { controlsSection, outagesSection, safetySection } from './service.ts'

const since = new Date('2026-01-31T12:34:56Z')
const stores = [
  { store: 'graph', runs: 2, since, isRefusing: false },
  { store: '<b>own', runs: 1, since, isRefusing: true },
]
const digestIn = (locale: 'en' | 'zh') =>
  optionalEmailContent(
    locale,
    [
      outagesSection(locale, stores, 'https://kp.example/admin/erasures'),
      controlsSection(locale, { fails: 3, attention: 4 }, 'https://kp.example/admin/compliance'),
      safetySection(locale, 5, 'https://kp.example/admin/safety'),
    ],
    { page: 'https://kp.example/emails/unsubscribe#t', oneClick: 'https://kp.example/api/emails/unsubscribe?token=t' },
  )

test.each(['en', 'zh'] as const)(
  'a digest in %s names each topic with its numbers, its page and the link',
  (locale) => {
    const { subject, text, html, headers } = digestIn(locale)
    expect(subject).toContain('3')
    expect(text).toContain('2026-01-31 12:34 UTC')
    for (const page of ['admin/erasures', 'admin/compliance', 'admin/safety', 'emails/unsubscribe#t'])
      expect(html).toContain(`<a href="https://kp.example/${page}"`)
    expect(html).not.toContain('<b>own')
    expect(headers).toEqual({
      'List-Unsubscribe': '<https://kp.example/api/emails/unsubscribe?token=t>',
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
    })
  },
)

test('an email with one topic has its subject, and without https no one-click header', () => {
  const one = optionalEmailContent('en', [safetySection('en', 1, 'http://localhost/admin/safety')], {
    page: 'http://localhost/emails/unsubscribe#t',
    oneClick: 'http://localhost/api/emails/unsubscribe?token=t',
  })
  expect(one.subject).toBe('Quarantined content waits for a review')
  expect(Object.keys(one.headers ?? {})).toEqual(['List-Unsubscribe'])
})
