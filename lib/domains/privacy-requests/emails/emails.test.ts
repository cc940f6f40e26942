import { describe, expect, it, test } from 'vitest'
import { requestKinds, states } from '#lib/domains/privacy-requests/rules.ts'
import type { EmailFacts, EmailTimelineEntry } from './email-facts.ts'
import { addressEmail, dueSection, requestEmail } from './emails.ts'
import { chinese } from './emails-chinese.ts'
import { english } from './emails-english.ts'

const at = new Date('2026-01-31T12:34:56Z')
const facts: EmailFacts = {
  id: 'preq_1',
  kinds: ['erasure'],
  isAgent: false,
  agentId: null,
  legalDueAt: at,
  waitingUntil: at,
  ifConfirmed: null,
  waitsForCopy: false,
  redacts: false,
  hasBegun: false,
  stays: [],
  links: { verify: 'https://kp.example/v', cancel: 'https://kp.example/c' },
  receipt: 'https://kp.example/receipts/rcpt_1',
  page: 'https://kp.example/account',
  isClosed: false,
  tokensStop: true,
  signInStays: true,
  privacyEmail: null,
  statusPage: undefined,
  isParticipant: false,
  isUnconnected: false,
}
const reported = (event: string): EmailTimelineEntry => ({
  event,
  at,
  note: 'The <reason>.',
  details: { ground: 'unfounded', until: at.toISOString() },
})
const languages = ['en', 'zh'] as const
const events = Object.keys(english)

describe('emails', () => {
  it('exist for the same events in both languages and for every state', () => {
    expect(Object.keys(chinese).sort()).toEqual(events.toSorted())
    for (const state of states) expect(events).toContain(state)
  })

  test.each(languages.flatMap((locale) => events.map((event) => ({ locale, event }))))(
    '$locale, $event: text and HTML contain the same words, and markup is escaped',
    ({ locale, event }) => {
      const content = requestEmail(locale, [reported(event)], facts)
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

  it.each(languages)(
    'emails in %s contain all events of a transaction under the subject line of the last event',
    (locale) => {
      const content = requestEmail(locale, [reported('received'), reported('verified'), reported('waiting')], {
        ...facts,
        kinds: requestKinds,
      })
      expect(content?.subject).toBe({ en: 'Your data will be deleted', zh: '您的数据将被删除' }[locale])
      expect(content?.text).toContain('2026-01-31 12:34 UTC')
      expect(content?.text).toContain('https://kp.example/c')
    },
  )

  const textOf = (locale: 'en' | 'zh', events: readonly EmailTimelineEntry[], more: Partial<EmailFacts> = {}) => {
    const content = requestEmail(locale, events, { ...facts, ...more })
    return `${content?.subject}\n${content?.text}`
  }
  const by = (event: string, details: EmailTimelineEntry['details']): EmailTimelineEntry => ({
    ...reported(event),
    note: null,
    details,
  })
  const says = (locale: 'en' | 'zh', en: RegExp, zh: RegExp) => (locale === 'en' ? en : zh)

  it.each(languages)(
    'emails in %s do not report that nothing was erased when a larger erasure replaces the request',
    (locale) => {
      const moot = textOf(locale, [by('cancelled', { by: 'erasure' })])
      expect(moot).toMatch(says(locale, /part of your larger deletion/, /并入您范围更大的删除/))
      expect(moot).not.toMatch(says(locale, /deleted nothing|deletion is cancelled/, /没有删除任何数据|已取消；/))
      const settled = textOf(locale, [by('completed', { by: 'erasure' })], { kinds: ['objection'], receipt: undefined })
      expect(settled).toMatch(says(locale, /part of your larger deletion/, /范围更大的删除一并处理/))
      expect(settled).not.toMatch(says(locale, /everything that you asked/i, /已全部完成/))
    },
  )
  it.each(languages)('emails in %s list what remains in effect when an erasure is cancelled', (locale) => {
    const text = textOf(locale, [reported('cancelled')], {
      kinds: requestKinds,
      stays: ['rectification', 'restriction'],
    })
    expect(text).toMatch(says(locale, /is cancelled.*deleted nothing/, /已取消.*没有删除任何数据/))
    expect(text).toMatch(
      says(locale, /remain in effect: the corrections; the restriction/, /仍然有效：已更正的内容；限制处理/),
    )
    expect(text).not.toMatch(says(locale, /as before/, /照旧/))
    expect(textOf(locale, [reported('cancelled')])).not.toMatch(says(locale, /remain in effect/, /仍然有效/))
  })
  it.each(languages)('emails in %s name a contact for the copy when the account is closed', (locale) => {
    const text = (privacyEmail: string | null, isClosed: boolean) =>
      textOf(locale, [reported('copy_ready')], { privacyEmail, isClosed })
    const signIn = says(locale, /Sign in to download it/, /登录后可以下载/)
    expect(text('privacy@kp.example', true)).toContain('privacy@kp.example')
    expect(text(null, true)).toMatch(says(locale, /operator of this installation/, /运营者/))
    expect(text(null, true)).not.toMatch(signIn)
    expect(text('privacy@kp.example', false)).toMatch(signIn)
  })
  it.each(languages)('emails in %s mention the copy that an erasure waits for', (locale) => {
    for (const event of ['waiting', 'copy_ready', 'copy_failed']) {
      const condition = says(locale, /downloaded the copy|deletion waits for it/, /下载|等待副本/)
      expect(
        textOf(locale, [reported(event)], { waitsForCopy: true })
          .split('\n')
          .slice(1)
          .join('\n'),
      ).toMatch(condition)
    }
    const alone = textOf(locale, ['waiting', 'copy_ready', 'copy_failed'].map(reported))
    expect(alone).not.toMatch(
      says(locale, /until you have downloaded|once you have downloaded|waits for it/, /您下载|等待/),
    )
  })
  it.each(languages)('emails in %s name the agent when only one agent is erased', (locale) => {
    for (const event of ['waiting', 'reminded', 'verifying']) {
      const text = textOf(locale, [reported(event)], { isAgent: true, agentId: 'agent-7' })
      expect(text).toContain('agent-7')
      expect(text).not.toMatch(says(locale, /your data (is|will be) deleted/i, /^您的数据/))
    }
  })
  it.each(languages)('emails in %s omit the grace period when the erasure begins immediately', (locale) => {
    const text = textOf(locale, [reported('verified'), reported('waiting'), by('running', { run_id: 'run_1' })])
    expect(text).toMatch(says(locale, /cannot be cancelled/, /无法取消/))
    expect(text).not.toMatch(says(locale, /Until then/, /在此之前/))
  })
  it.each(languages)(
    'emails in %s report a failure once, with its effect on data, and that admins are notified',
    (locale) => {
      const begun = textOf(locale, [reported('failed')], { hasBegun: true })
      expect(begun).toMatch(says(locale, /already deleted stays deleted/, /已删除的不会恢复/))
      expect(begun).not.toMatch(says(locale, /No data was lost/, /没有丢失/))
      const told_ = says(locale, /administrators have been notified/g, /(通知|获知)/g)
      expect(textOf(locale, [reported('copy_failed'), reported('failed')]).match(told_)).toHaveLength(1)
    },
  )
  it.each(languages)(
    'emails in %s report whether the erasure waits for copies or drops them when the grace period is ended',
    (locale) => {
      const wait = textOf(locale, [by('expedited', { copies: 'wait' })])
      expect(wait).toMatch(says(locale, /once the copy.*downloaded or expires/, /副本被下载或过期之后/))
      expect(wait).not.toMatch(says(locale, /begins now/, /现在开始/))
      expect(textOf(locale, [by('expedited', { copies: 'dropped' })])).toMatch(
        says(locale, /deleted with all other data/, /一并删除/),
      )
    },
  )
  it.each(languages)(
    'emails in %s about a refused objection report that agents can write again, and the reason once',
    (locale) => {
      const text = textOf(locale, [by('part_refused', { ground: 'unfounded', lifted: true }), by('rejected', {})])
      expect(text).toMatch(says(locale, /agents can write again/, /可以重新写入/))
      expect(text.match(says(locale, /lodge a complaint/g, /监管机构投诉/g))).toHaveLength(1)
      expect(textOf(locale, [by('part_refused', { ground: 'unfounded' })])).not.toMatch(
        says(locale, /write again/, /重新写入/),
      )
    },
  )
  it.each(languages)(
    'emails in %s about receipt and refusal contain the contact address for questions, if one is configured',
    (locale) => {
      for (const event of ['received', 'rejected']) {
        expect(textOf(locale, [reported(event)], { privacyEmail: 'privacy@kp.example' })).toContain(
          'privacy@kp.example',
        )
        expect(textOf(locale, [reported(event)])).not.toMatch(says(locale, /Questions/, /如有疑问/))
      }
    },
  )

  it('requestEmail returns undefined for events without an email', () => {
    expect(requestEmail('en', [reported('comment'), reported('overdue')], facts)).toBeUndefined()
  })

  it.each(languages)('emails in %s about a refusal or extension name the authority and the court', (locale) => {
    for (const event of ['rejected', 'part_refused', 'extended'])
      expect(requestEmail(locale, [reported(event)], facts)?.text).toMatch(
        locale === 'en' ? /complaint.*judicial/s : /投诉.*司法/s,
      )
  })

  it.each(languages)('emails in %s contain only the link for a new address, and only counts for admins', (locale) => {
    expect(addressEmail(locale, 'https://kp.example/a').text).toContain('https://kp.example/a')
    const due = dueSection(locale, { near: 2, overdue: 31, failed: 0, doubted: 7, page: 'https://kp.example/q' })
    expect(due.paragraphs.join()).toMatch(/2.*31.*0.*7/s)
    const subjects = [
      [1, 0, 0, 0],
      [0, 1, 0, 0],
      [0, 0, 1, 0],
      [0, 0, 0, 1],
    ].map(
      ([near = 0, overdue = 0, failed = 0, doubted = 0]) =>
        dueSection(locale, { near, overdue, failed, doubted, page: '' }).subject,
    )
    expect(new Set(subjects).size).toBe(4)
  })
})
