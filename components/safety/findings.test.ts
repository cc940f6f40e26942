import { expect, test } from 'vitest'
import { sensitiveKinds } from '#lib/domains/pii/findings.ts'
import { scan } from '#lib/domains/pii/scanner.ts'
import { analyzedKinds, findingCountsOf, redactedKinds, refusedKinds, scanResultOf } from './findings.ts'

test('the lists of kinds contain every kind of the scanner', () => {
  expect([...refusedKinds, ...redactedKinds, ...analyzedKinds, 'strategy_detail'].toSorted()).toEqual(
    sensitiveKinds.toSorted(),
  )
})

test('decisionOf returns blocked for a text with one secret', () => {
  expect(scanResultOf([])).toEqual({ says: 'nothing', count: 0 })
  const letter = scan('one@example.org, two@example.org')
  expect(scanResultOf(letter)).toEqual({ says: 'redacted', count: 2 })
  expect(findingCountsOf(letter)).toEqual([{ kind: 'email', action: 'redact', count: 2 }])
  const secret = scan(`private key: 0x${'4c'.repeat(32)}, one@example.org`)
  expect(scanResultOf(secret)).toEqual({ says: 'blocked', count: 1 })
  expect(findingCountsOf(secret).map(({ kind }) => kind)).toEqual(['private_key', 'email'])
})
