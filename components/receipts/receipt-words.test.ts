import { describe, expect, it } from 'vitest'
import { codesOf } from '#lib/kernel/receipt-texts.ts'
import en from '#messages/en.ts'
import zh from '#messages/zh.ts'

// Data sources are compared with their names in components/erasures/store-rows.test.ts.
describe.each([
  ['English', en],
  ['Chinese', zh],
])('the texts of receipts in %s', (_, { receipt, storeProgress }) => {
  it('translate every retained record, ground, physical copy and unsearched record, and nothing else', () => {
    expect(Object.keys(receipt.retained.texts).sort()).toEqual(codesOf('retained').sort())
    expect(Object.keys(receipt.grounds).sort()).toEqual(codesOf('grounds').sort())
    expect(Object.keys(receipt.physical.texts).sort()).toEqual(codesOf('physical').sort())
    expect(Object.keys(receipt.notSearched.texts).sort()).toEqual(codesOf('notSearched').sort())
  })

  it('add notes to data sources that exist', () => {
    expect(Object.keys(storeProgress.holders)).toEqual(expect.arrayContaining(Object.keys(receipt.notes)))
  })
})
