import { describe, expect, it } from 'vitest'
import { codesOf, receiptText, receiptTexts, recognizeReceiptText } from './receipt-texts.ts'

const groups = ['retained', 'grounds', 'physical', 'notSearched'] as const

describe('recognizeReceiptText', () => {
  it('covers every group of texts', () => expect(Object.keys(receiptTexts)).toEqual([...groups]))

  it.each(groups)('returns the code and values of every text of "%s"', (group) => {
    for (const code of codesOf(group))
      for (const count of [1, 4242]) {
        const text = receiptText(group, code, { count, hold: 'hold_1', system: 'crm.example.org' })
        expect(text).not.toMatch(/[{}]/)
        expect(recognizeReceiptText(group, text)).toMatchObject({ code })
        if (text.includes('4242')) expect(recognizeReceiptText(group, text)?.count).toBe(4242)
      }
  })

  it('returns the legal hold in a line about retained records', () =>
    expect(recognizeReceiptText('retained', receiptText('retained', 'held', { count: 2, hold: 'hold_abc' }))).toEqual({
      code: 'held',
      count: 2,
      hold: 'hold_abc',
      system: '',
    }))

  it.each([1, 4])('returns the system and the number of %i pointers to external data', (count) => {
    const text = receiptText('retained', 'outsideIn', { count, system: 'crm.example.org' })
    expect(recognizeReceiptText('retained', text)).toMatchObject({
      code: 'outsideIn',
      count,
      system: 'crm.example.org',
    })
  })

  it('returns undefined for an unknown text, and for a known text with an addition', () => {
    expect(recognizeReceiptText('retained', 'something else')).toBeUndefined()
    expect(recognizeReceiptText('retained', `${receiptText('retained', 'id')}, and more`)).toBeUndefined()
  })
})
