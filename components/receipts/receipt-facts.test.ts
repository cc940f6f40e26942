import { NextIntlClientProvider } from 'next-intl'
import { type ComponentProps, createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { describe, expect, it } from 'vitest'
import type { Receipt } from '#lib/kernel/receipt.ts'
import { receiptText } from '#lib/kernel/receipt-texts.ts'
import en from '#messages/en.ts'
import { ReceiptFacts } from './receipt-view.tsx'
import { includesOwnRequest } from './store-totals.ts'

const at = '2026-01-31T12:00:00.000Z'
const receipt = (more: Partial<Receipt> = {}): Receipt => ({
  receipt_id: 'rcpt_1',
  version: 1,
  issuer: 'test',
  deleted_id: 'usr_1',
  deleted_at: at,
  reason: 'test',
  stores: [],
  retained: [],
  physical: [],
  signed_at: at,
  jws: 'a..b',
  ...more,
})
function textOf(more: Partial<Receipt>): string {
  const props: ComponentProps<typeof NextIntlClientProvider> = {
    locale: 'en',
    messages: en,
    timeZone: 'UTC',
    now: new Date(at),
    children: createElement(ReceiptFacts, { receipt: receipt(more) }),
  }
  return renderToStaticMarkup(createElement(NextIntlClientProvider, props)).replace(/<[^>]*>/g, ' ')
}

describe('the facts of a receipt', () => {
  it.each([
    [null, /Names in other people’s graphs\s+Not removed \(not requested\)/],
    [0, /Names in other people’s graphs\s+Replaced \(places: 0\)/],
    [1234, /Names in other people’s graphs\s+Replaced \(places: 1,234\)/],
  ])('state whether names in graphs were replaced: %s', (names_replaced, said) =>
    expect(textOf({ names_replaced })).toMatch(said),
  )

  it('state nothing about names if the receipt does not', () => expect(textOf({})).not.toContain('Names'))
})

describe('includesOwnRequest', () => {
  const requests = (deleted: number): Receipt['stores'] => [
    {
      store: 'postgresql',
      holder: 'privacy.requests',
      what: 'requests',
      found: deleted,
      deleted,
      residue: 0,
      verified_at: at,
    },
  ]
  const retained = [{ what: receiptText('retained', 'request'), ground: '', until: null }]

  it('is true for an erasure that a request asked for and that changed requests', () =>
    expect(includesOwnRequest(receipt({ stores: requests(2), retained }))).toBe(true))

  it.each([
    ['no request was changed', { stores: requests(0), retained }],
    ['no request asked for the erasure', { stores: requests(2) }],
  ])('is false when %s', (_, more) => expect(includesOwnRequest(receipt(more))).toBe(false))
})
