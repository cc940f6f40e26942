import { expect, it } from 'vitest'
import { searchStringsOf } from './search-strings.ts'

it('searches for more strings than a function call has arguments', () => {
  const ids = Array.from({ length: 200_000 }, (_, n) => `msg_${n}`)
  const sought = searchStringsOf(ids)
  expect([sought.longest, sought.isEmpty]).toEqual([10, false])
  expect(sought.occursIn('It quotes msg_199999.')).toBe(true)
  expect(sought.occursIn('It quotes msg_200000.')).toBe(false)
})
