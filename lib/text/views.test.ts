import { expect, it } from 'vitest'
import { maxDecoded } from './views.ts'

it('maxDecoded returns any number of spans', () => {
  const count = 300_000
  const spans = Array.from({ length: count }, (_, at) => ({ start: at * 2, end: at * 2 + 1 }))
  expect(maxDecoded('a '.repeat(count), spans)).toHaveLength(count)
})
