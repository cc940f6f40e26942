import { describe, expect, it } from 'vitest'
import { codesOf } from '#lib/kernel/receipt-texts.ts'
import en from '#messages/en.ts'
import zh from '#messages/zh.ts'

describe.each([
  ['English', en],
  ['Chinese', zh],
])('the texts of receipts in %s', (_, { receipt }) => {
  it('translate every retained record, ground, physical copy and unsearched record, and nothing else', () => {
    expect(Object.keys(receipt.retained.texts).sort()).toEqual(codesOf('retained').sort())
    expect(Object.keys(receipt.grounds).sort()).toEqual(codesOf('grounds').sort())
    expect(Object.keys(receipt.physical.texts).sort()).toEqual(codesOf('physical').sort())
    expect(Object.keys(receipt.notSearched.texts).sort()).toEqual(codesOf('notSearched').sort())
  })

  it('limit unnamed external systems to those that the list does not name', () =>
    expect(receipt.retained.texts.outside).toMatch(/not named here|此处未列名/))
})
