import { describe, expect, it } from 'vitest'
import { phoneNumbersIn } from './phone-numbers.ts'

describe('phoneNumbersIn', () => {
  it('returns the digits of each number in international and national form and without any prefix', () => {
    expect(phoneNumbersIn('Call me on +43 660 1234567, please.').sort()).toEqual(
      ['436601234567', '00436601234567', '011436601234567', '06601234567', '6601234567'].sort(),
    )
  })
  it.each(['On 2026-01-02 I ordered 12 items.', 'Room 77', 'Nothing.', 'Order 4711-0815 of 2026'])(
    'returns nothing for %j',
    (text) => {
      expect(phoneNumbersIn(text)).toEqual([])
    },
  )
})
