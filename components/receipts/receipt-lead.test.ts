import { NextIntlClientProvider } from 'next-intl'
import { type ComponentProps, createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { describe, expect, it } from 'vitest'
import type { Receipt } from '#lib/kernel/receipt.ts'
import { codesOf, receiptText } from '#lib/kernel/receipt-texts.ts'
import en from '#messages/en.ts'
import zh from '#messages/zh.ts'
import { ReceiptLead } from './receipt-lead.tsx'
import { stayingData } from './staying-rules.ts'

const at = '2026-01-31T12:00:00.000Z'
const line = (store: string, deleted: number, residue = 0): Receipt['stores'][number] => ({
  store,
  holder: `${store}.records`,
  what: 'records',
  found: deleted,
  deleted,
  residue,
  verified_at: at,
})
const receipt = (more: Partial<Receipt> = {}): Receipt => ({
  receipt_id: 'rcpt_1',
  version: 1,
  issuer: 'https://example.org',
  deleted_id: 'usr_1',
  deleted_at: at,
  subject_kind: 'account',
  reason: 'test',
  retained: [],
  physical: [],
  signed_at: at,
  jws: 'a..b',
  stores: [line('postgresql', 290), line('graph', 20), line('cache', 0)],
  ...more,
})
const words = { en, zh }
function textOf(more: Partial<Receipt> = {}, locale: keyof typeof words = 'en'): string {
  const props: ComponentProps<typeof NextIntlClientProvider> = {
    locale,
    messages: words[locale],
    timeZone: 'UTC',
    now: new Date(at),
    children: createElement(ReceiptLead, { receipt: receipt(more) }),
  }
  return renderToStaticMarkup(createElement(NextIntlClientProvider, props))
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
}
const reading = (more: Partial<NonNullable<Receipt['complete_reading']>['stores'][number]> = {}) => ({
  complete_reading: {
    receipt_id: 'rcpt_1',
    version: 1 as const,
    issuer: 'https://example.org',
    signed_at: at,
    jws: 'a..b',
    stores: [
      {
        store: 'postgresql',
        holder: 'words',
        from: at,
        until: '2026-01-31T13:00:00.000Z',
        how: ['words' as const],
        texts: 5,
        found: 0,
        erased: 0,
        left: 0,
        explained: 0,
        not_read: [],
        ...more,
      },
    ],
  },
})

describe('the first layer of a receipt', () => {
  it('counts deleted items, and only the places that lost some', () => {
    expect(textOf()).toContain(
      '310 items about this person were deleted from 2 places on January 31, 2026, and a second search found none of them.',
    )
    expect(textOf({}, 'zh')).toContain('已从 2 处删除关于此人的 310 条数据')
  })

  it('does not state that nothing was found when something was', () => {
    const text = textOf({ stores: [line('postgresql', 3, 2)] })
    expect(text).toContain('still found 2 items about this person')
    expect(text).not.toContain('found none')
  })

  it('does not state that a receipt without a searched store proves a deletion', () =>
    expect(textOf({ stores: [] })).toContain('proves no deletion'))

  it('states that stores were read in full only if the receipt has this statement', () => {
    expect(textOf()).toContain('No store was fully read yet.')
    const text = textOf(reading())
    expect(text).toMatch(/1 kind of stored data was also read in full\. No deleted words remain/)
    expect(text).not.toContain('Not read')
  })

  it('states what remains, and what could not be read, beside a complete reading', () => {
    const text = textOf(reading({ left: 2, not_read: [{ reason: 'large', count: 3 }] }))
    expect(text).toContain('Deleted words remain in 2 places')
    expect(text).toContain('couldn’t read (encrypted, binary or too large): 3.')
    expect(text).not.toContain('No deleted words remain')
  })

  it('states where names remain, and that an older statement did not compare names', () => {
    expect(textOf(reading())).toContain('Names alone were not compared.')
    const listed = textOf(reading({ names: { found: 3, erased: 1, listed: 2 } }))
    expect(listed).toContain('remain in 2 places')
    expect(listed).not.toContain('not compared')
    expect(textOf(reading({ names: { found: 1, erased: 1, listed: 0 } }))).not.toContain('may be names')
  })

  it('explains why it counts more items than the preview did', () => {
    const own = (stores: Receipt['stores']) =>
      textOf({
        stores: [{ ...line('postgresql', 2), holder: 'privacy.requests' }, ...stores],
        retained: [{ what: receiptText('retained', 'request'), ground: '', until: at }],
      })
    expect(own([])).toContain('Includes records added after the confirmation, such as the deletion request.')
    const copies = { ...line('postgresql', 18), holder: 'holds.versions' }
    expect(own([copies])).toContain('Includes the deletion request, and 18 copies kept for an ended legal hold.')
  })

  it('has a separate line for records under a legal hold', () => {
    const text = textOf({
      held: 3,
      retained: [{ what: receiptText('retained', 'held', { count: 3, hold: 'hold_1' }), ground: '', until: null }],
    })
    expect(text).toContain('3 items stay because of a legal hold')
    expect(text).not.toContain('hold_1')
  })
})

describe('what stays', () => {
  it('has plain words for each retained kind, and a line of its own for what was to be deleted and is still there', () => {
    const retained = codesOf('retained').map((code) => ({
      what: receiptText('retained', code, { count: 2, hold: 'hold_1', system: 'crm.example' }),
      ground: code,
      until: at,
    }))
    const { groups, others } = stayingData({ retained, physical: [] })
    expect(groups.map(({ name }) => name)).toEqual(['proof', 'return', 'passing'])
    expect(others.map(({ ground }) => ground).sort()).toEqual(
      ['blockchain', 'held', 'heldUncounted', 'outside', 'outsideIn', 'sameTexts', 'threads'].sort(),
    )
  })

  it('lists a text that it does not know', () => {
    const unknown = { what: 'something new', ground: 'why', until: null }
    expect(stayingData({ retained: [unknown], physical: [] }).others).toEqual([unknown])
    expect(textOf({ retained: [unknown] })).toContain('something new')
  })

  it('ends with the last record of the group', () => {
    const of = (until: string | null) => ({ what: receiptText('retained', 'proof'), ground: '', until })
    const later = '2033-01-31T12:00:00.000Z'
    expect(stayingData({ retained: [of(later), of(at)], physical: [] }).groups[0]?.until).toBe(later)
    expect(stayingData({ retained: [of(null), of(at)], physical: [] }).groups[0]?.until).toBeNull()
  })

  it('mentions texts of others and data that cannot be searched', () => {
    const text = textOf({
      remaining_mentions: [{ store: 'graph', kind: 'message', field: 'content', count: 4 }],
      not_searched: [{ store: 'cache', what: 'values', count: null }],
    })
    expect(text).toContain('They keep their texts: 4 places.')
    expect(text).toContain('1 kind of data can’t be searched for words.')
  })
})
