import { Neo4jError } from 'neo4j-driver'
import { expect, test } from 'vitest'
import { Problem } from '#lib/kernel/problem.ts'
import { asGraphProblem, isSupported, neo4jRefusal } from './neo4j-connection.ts'

test.each([
  ['5.26.0', true],
  ['5.26.11', true],
  ['2025.01.0', true],
  ['5.25.9', false],
  ['4.4.40', false],
  ['undefined', false],
])('isSupported(%s) returns %s', (version, is) => {
  expect(isSupported(version)).toBe(is)
})

test('asProblem omits Neo4j’s message, because it may quote stored data', () => {
  const said = new Neo4jError(
    'Node(3) has name = `Nobody Real`',
    'Neo.ClientError.Schema.ConstraintValidationFailed',
    '',
    '',
  )
  const problem = asGraphProblem(said)
  expect(problem).toBeInstanceOf(Problem)
  expect(JSON.stringify(problem) + String(problem)).not.toContain('Nobody')
  expect(problem).toMatchObject({ code: 'unavailable', detail: expect.stringContaining('ConstraintValidationFailed') })
})

test.each([
  ['Neo.ClientError.Security.Unauthorized', 'credentials'],
  ['Neo.ClientError.Security.CredentialsExpired', 'credentials'],
  ['Neo.ClientError.Security.Forbidden', 'access_denied'],
  ['Neo.ClientError.Security.AuthenticationRateLimit', undefined],
  ['Neo.ClientError.Database.DatabaseNotFound', 'missing'],
  ['Neo.TransientError.General.DatabaseUnavailable', undefined],
  ['ServiceUnavailable', undefined],
])('neo4jRefusal maps the error %s to %s', (code, refusal) => {
  expect(neo4jRefusal(code)).toBe(refusal)
})
