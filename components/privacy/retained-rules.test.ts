import { createTranslator } from 'next-intl'
import { expect, test } from 'vitest'
import { type ReceiptTextCode, receiptText } from '#lib/kernel/receipt-texts.ts'
import en from '#messages/en.ts'
import { externalSystemsIn, retentionTerm, specialTermOf } from './retained-rules.ts'

const now = new Date('2026-02-28T12:00:00.000Z')
test.each([
  ['2026-05-29T12:00:00.000Z', 90, 'day'],
  ['2033-02-28T12:00:00.000Z', 7, 'year'],
  ['2027-02-28T11:59:58.000Z', 1, 'year'],
  ['2027-03-02T12:00:00.000Z', 367, 'day'],
  ['2026-03-01T12:00:00.000Z', 1, 'day'],
] as const)('retentionTerm until %s returns %d %s', (until, value, unit) =>
  expect(retentionTerm(new Date(until), now)).toEqual({ value, unit }),
)

const t = createTranslator({ locale: 'en', messages: en, namespace: 'receipt.retained' })
const termOf = (code: ReceiptTextCode<'retained'>) => {
  const special = specialTermOf(receiptText('retained', code))
  return special === undefined ? undefined : t(`terms.${special}`, { time: '3 years' })
}
test.each([
  ['request', '3 years after closing'],
  ['lastEmail', 'at most 3 years'],
  ['emails', '7 days each'],
  ['sharedIds', 'until a search of the shared stores finds nothing'],
  ['audit', undefined],
  ['proof', undefined],
] as const)('specialTermOf returns the term of %s: %s', (code, term) => expect(termOf(code)).toBe(term))

test('externalSystemsIn returns the systems that a deletion does not reach', () => {
  const named = receiptText('retained', 'outsideIn', { system: 'crm.example.org', count: 2 })
  const unnamed = receiptText('retained', 'outside', { count: 1 })
  const other = receiptText('retained', 'audit')
  expect(externalSystemsIn([named, unnamed, other].map((what) => ({ what })))).toEqual({
    systems: ['crm.example.org'],
    hasOthers: true,
  })
  expect(externalSystemsIn([{ what: other }])).toEqual({ systems: [], hasOthers: false })
})
