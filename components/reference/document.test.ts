import { describe, expect, test } from 'vitest'
import openApi from '../../openapi.json' with { type: 'json' }
import { boundsOf, matching, referenceOf, typeOf } from './document.ts'

const reference = referenceOf(openApi)

describe('referenceOf', () => {
  test('returns all operations of openapi.json and the schemas that they name', () => {
    expect(reference.version).toMatch(/^\d+\.\d+\.\d+$/)
    expect(reference.operations).toContainEqual(
      expect.objectContaining({ method: 'post', path: '/api/account/password', 'x-permission': 'accounts:person' }),
    )
    expect(reference.operations).toHaveLength(Object.values(openApi.paths).flatMap(Object.keys).length)
    expect(Object.keys(reference.schemas)).toContain('Receipt')
  })

  test('throws for a document of another shape', () => expect(() => referenceOf({ paths: [] })).toThrow())
})

describe('matching', () => {
  const found = (query: string) =>
    [...matching(reference.operations, query).values()].flat().map(({ operationId }) => operationId)
  test('returns all operations for an empty query', () => expect(found(' ')).toHaveLength(reference.operations.length))
  test.each([
    ['Change MY password', 'changePassword'],
    ['POST password', 'changePassword'],
    ['/v1/receipts', 'readReceipt'],
    ['accounts:person delete', 'revokeSession'],
  ])('returns for the query %j the operation %s', (query, id) => expect(found(query)).toContain(id))
  test('requires every word', () => expect(found('password zebra')).toEqual([]))
})

describe('schema text', () => {
  test.each([
    [{ type: 'string' }, 'string'],
    [{ $ref: '#/components/schemas/Part' }, 'Part'],
    [{ type: 'array', items: { $ref: '#/components/schemas/Part' } }, 'array of Part'],
    [{ anyOf: [{ enum: ['a', 'b'] }, { type: 'null' }] }, '"a" | "b" | null'],
    [{ const: 1 }, '1'],
    [{}, 'any'],
  ])('typeOf %j returns %s', (schema, text) => expect(typeOf(schema)).toBe(text))

  test.each([
    [{ minimum: 1, maximum: 100, default: 20 }, ['1–100', 'default 20']],
    [{ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }, []],
    [{ maxLength: 500 }, ['≤ 500 characters']],
    [{ minItems: 1 }, ['≥ 1 items']],
    [{ format: 'date-time', pattern: '^\\d+$' }, ['date-time']],
  ])('boundsOf %j returns %j', (schema, bounds) => expect(boundsOf(schema)).toEqual(bounds))
})
