import { expect, test } from 'vitest'
import { kinds } from '#lib/domains/pii/findings.ts'
import { scan } from '#lib/domains/pii/scanner.ts'
import { analyzedKinds, countsOf, redactedKinds, refusedKinds, verdictOf } from './findings.ts'

test('the lists of kinds contain every kind of the scanner', () => {
  expect([...refusedKinds, ...redactedKinds, ...analyzedKinds, 'strategy_detail'].toSorted()).toEqual(kinds.toSorted())
})

test('verdictOf returns blocked for a text with one secret', () => {
  expect(verdictOf([])).toEqual({ says: 'nothing', count: 0 })
  const letter = scan('one@example.org, two@example.org')
  expect(verdictOf(letter)).toEqual({ says: 'redacted', count: 2 })
  expect(countsOf(letter)).toEqual([{ kind: 'email', action: 'redact', count: 2 }])
  const secret = scan(`private key: 0x${'4c'.repeat(32)}, one@example.org`)
  expect(verdictOf(secret)).toEqual({ says: 'blocked', count: 1 })
  expect(countsOf(secret).map(({ kind }) => kind)).toEqual(['private_key', 'email'])
})
