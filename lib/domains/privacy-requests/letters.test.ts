import { describe, expect, it, test } from 'vitest'
import type { LetterFacts, Told } from './letter-facts.ts'
import { addressLetter, dueLetter, requestLetter } from './letters.ts'
import { chinese } from './letters-chinese.ts'
import { english } from './letters-english.ts'
import { kinds, states } from './rules.ts'

const at = new Date('2026-01-31T12:34:56Z')
const facts: LetterFacts = {
  id: 'preq_1',
  kinds: ['erasure'],
  isAgent: false,
  legalDueAt: at,
  waitingUntil: at,
  links: { verify: 'https://kp.example/v', cancel: 'https://kp.example/c' },
  receipt: 'https://kp.example/receipts/rcpt_1',
  page: 'https://kp.example/request',
  tokensStop: true,
  signInStays: true,
}
const told = (event: string): Told => ({
  event,
  at,
  note: 'The <reason>.',
  details: { ground: 'unfounded', until: at.toISOString() },
})
const languages = ['en', 'zh'] as const
const events = Object.keys(english)

describe('letters', () => {
  it('tell of the same events in both languages, and of every state', () => {
    expect(Object.keys(chinese).sort()).toEqual(events.toSorted())
    for (const state of states) expect(events).toContain(state)
  })

  test.each(languages.flatMap((locale) => events.map((event) => ({ locale, event }))))(
    '$locale, $event: the same words as text and as HTML, markup as text',
    ({ locale, event }) => {
      const content = requestLetter(locale, [told(event)], facts)
      const words = content?.html
        .replace(/<title>.*<\/title>|<[^>]+>/g, '')
        .replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(Number(code)))
        .replace(/\s/g, '')
      expect(words).toBe(content?.text.replace(/\s/g, ''))
      expect(content?.html).not.toContain('<reason>')
      expect(content?.html).toContain(`lang="${locale}"`)
      expect(content?.text).toContain('preq_1')
      expect(/[\u4e00-\u9fff]/.test(content?.subject ?? '')).toBe(locale === 'zh')
    },
  )

  it.each(languages)('in %s say everything that happened at once, under the last of it', (locale) => {
    const content = requestLetter(locale, [told('received'), told('verified'), told('waiting')], { ...facts, kinds })
    expect(content?.subject).toBe({ en: english, zh: chinese }[locale].waiting?.subject)
    expect(content?.text).toContain('2026-01-31 12:34 UTC')
    expect(content?.text).toContain('https://kp.example/c')
  })

  it('about nothing that is told are no letters', () => {
    expect(requestLetter('en', [told('comment'), told('overdue')], facts)).toBeUndefined()
  })

  it.each(languages)('in %s: a refusal and an extension name the authority and the court', (locale) => {
    for (const event of ['rejected', 'part_refused', 'extended'])
      expect(requestLetter(locale, [told(event)], facts)?.text).toMatch(
        locale === 'en' ? /complaint.*judicial/s : /投诉.*司法/s,
      )
  })

  it.each(languages)('in %s to a new address and to admins carry the link and counts alone', (locale) => {
    expect(addressLetter(locale, 'https://kp.example/a').text).toContain('https://kp.example/a')
    const due = dueLetter(locale, { near: 2, overdue: 31, failed: 0, page: 'https://kp.example/q' })
    expect(due.text).toMatch(/2.*31.*0/s)
    const subjects = [
      [1, 0, 0],
      [0, 1, 0],
      [0, 0, 1],
    ].map(([near = 0, overdue = 0, failed = 0]) => dueLetter(locale, { near, overdue, failed, page: '' }).subject)
    expect(new Set(subjects).size).toBe(3)
  })
})
