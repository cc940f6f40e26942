import { expect, it } from 'vitest'
import { assignNamespaces } from '#lib/domains/accounts/contract.ts'
import { anyId, maxPrefixes, typedNamespaces } from './namespace-rules.ts'

const lines = (count: number): string => Array.from({ length: count }, (_, n) => `prefix-${n}`).join('\n')

it('returns each line once, without spaces and empty lines, and * when every id is allowed', () => {
  expect(typedNamespaces(' acme- \n\nacme-\nsales:eu.\n', false)).toEqual({
    prefixes: ['acme-', 'sales:eu.'],
    fault: undefined,
  })
  expect(typedNamespaces('', true)).toEqual({ prefixes: [anyId], fault: undefined })
})

it.each(['ab', 'a b c', 'acme/', '*', 'x'.repeat(201)])('reports the line %j, which the API rejects', (line) => {
  expect(typedNamespaces(`acme-\n${line}`, false).fault).toEqual({ kind: 'form', lines: [line] })
  if (line !== anyId) expect(assignNamespaces.body.safeParse({ namespaces: [line] }).success).toBe(false)
})

it('reports more prefixes than the API accepts', () => {
  for (const [count, hasAny, isRight] of [
    [maxPrefixes, false, true],
    [maxPrefixes, true, false],
    [maxPrefixes + 1, false, false],
  ] as const) {
    const { prefixes, fault } = typedNamespaces(lines(count), hasAny)
    expect(fault === undefined).toBe(isRight)
    expect(assignNamespaces.body.safeParse({ namespaces: prefixes }).success).toBe(isRight)
  }
})
