import { expect, it } from 'vitest'
import { acceptedEncoding } from './fixed-content.ts'

it.each([
  [null, 'identity'],
  ['', 'identity'],
  ['*', 'identity'],
  ['gzip', 'gzip'],
  ['GZIP;q=0.5, deflate', 'gzip'],
  ['gzip, deflate, br', 'br'],
  ['br;q=0, gzip', 'gzip'],
  ['br; q=0.000, gzip; q=0', 'identity'],
  ['brotli, x-gzip', 'identity'],
])('acceptedEncoding of %j returns %s', (header, encoding) => {
  expect(acceptedEncoding(header)).toBe(encoding)
})
