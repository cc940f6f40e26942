import { NextIntlClientProvider } from 'next-intl'
import { type ComponentProps, createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { describe, expect, it } from 'vitest'
import type { Receipt } from '#lib/kernel/receipt.ts'
import en from '#messages/en.ts'
import zh from '#messages/zh.ts'
import { DerivedSections } from './derived-sections.tsx'

const at = '2026-01-31T12:00:00.000Z'
const plain: Receipt = {
  receipt_id: 'rcpt_1',
  version: 1,
  issuer: 'test',
  deleted_id: 'msg_1',
  deleted_at: at,
  reason: 'test',
  stores: [],
  retained: [],
  physical: [],
  signed_at: at,
  jws: 'a..b',
}
const words = { en, zh }
/** The text of each cell and paragraph. */
function textsOf(receipt: Partial<Receipt>, locale: keyof typeof words = 'en'): string[] {
  const sections = createElement(DerivedSections, { receipt: { ...plain, ...receipt } })
  const props: ComponentProps<typeof NextIntlClientProvider> = {
    locale,
    messages: words[locale],
    timeZone: 'UTC',
    children: sections,
  }
  const page = createElement(NextIntlClientProvider, props)
  const html = renderToStaticMarkup(page)
  return html
    .split(/<\/(?:h2|p|th|td)>/)
    .map((part) => part.replace(/<span aria-hidden[^>]*>.*?<\/span>/g, '').replace(/<[^>]*>/g, ''))
    .filter((text) => text !== '')
}

describe('the sections of a receipt about derived data', () => {
  it('are absent when the receipt lacks their fields', () => {
    expect(textsOf({})).toEqual([])
  })

  it('list by store the records that were cut, deleted, re-evaluated and retained', () => {
    const texts = textsOf({ derived: [{ store: 'graph', cut: 3, deleted: 12, judged_again: 41, retained: 2 }] })
    const row = texts.indexOf('Knowledge graph')
    expect(texts.slice(row - 5, row + 5)).toEqual([
      'Store',
      'Cut',
      'Deleted',
      'Re-evaluated',
      'Retained',
      'Knowledge graph',
      '3',
      '12',
      '41',
      '2',
    ])
    expect(texts).not.toContain('Remaining mentions')
  })

  it.each([
    [
      { matched: 0, unmatched: 0 },
      'which we blanked: 0. Other generated texts, which remain and may paraphrase the deleted text: 0.',
    ],
    [
      { matched: 2, unmatched: 0 },
      'which we blanked: 2. Other generated texts, which remain and may paraphrase the deleted text: 0.',
    ],
    [
      { matched: 1, unmatched: 1 },
      'which we blanked: 1. Other generated texts, which remain and may paraphrase the deleted text: 1.',
    ],
    [
      { matched: 0, unmatched: 7 },
      'which we blanked: 0. Other generated texts, which remain and may paraphrase the deleted text: 7.',
    ],
  ])('state how many exposed texts were blanked and how many remain: %j', (exposed, said) => {
    expect(textsOf({ exposed }).join(' ')).toContain(said)
  })

  it('name the location of each remaining mention, and the records that were not searched', () => {
    const mentions = [
      { store: 'postgresql', kind: 'message', field: 'content', count: 11 },
      { store: 'vectors', kind: 'chunk', field: 'text', count: 1 },
    ]
    const texts = textsOf({
      remaining_mentions: mentions,
      not_searched: [{ store: 'cache', what: 'compressed values', count: null }],
    })
    const from = texts.indexOf('Database')
    expect(texts.slice(from, from + 8)).toEqual([
      'Database',
      'message',
      'content',
      '11',
      'vectors',
      'chunk',
      'text',
      '1',
    ])
    expect(texts.slice(-3)).toEqual(['Cache', 'compressed values', 'not counted'])
  })

  it('are in Chinese on a Chinese page', () => {
    const texts = textsOf(
      { remaining_mentions: [{ store: 'graph', kind: 'entity', field: 'summary', count: 2 }] },
      'zh',
    )
    expect(texts).toEqual(expect.arrayContaining([zh.receipt.mentions, '知识图谱', '实体']))
  })
})
