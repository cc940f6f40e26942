import { describe, expect, test } from 'vitest'
import openApi from '../../openapi.json' with { type: 'json' }
import { boundsOf, matching, referenceOf, typeOf } from './document.ts'

const reference = referenceOf(openApi)

describe('the document that the API is described by', () => {
  test('is read with its operations and the schemas they name', () => {
    expect(reference.version).toMatch(/^\d+\.\d+\.\d+$/)
    expect(reference.operations).toContainEqual(
      expect.objectContaining({ method: 'post', path: '/api/account/password', 'x-permission': 'accounts:person' }),
    )
    expect(reference.operations).toHaveLength(Object.values(openApi.paths).flatMap(Object.keys).length)
    expect(Object.keys(reference.schemas)).toContain('Receipt')
  })

  test('is refused when it is another', () => expect(() => referenceOf({ paths: [] })).toThrow())
})

describe('the filter', () => {
  const found = (query: string) =>
    [...matching(reference.operations, query).values()].flat().map(({ operationId }) => operationId)
  test('without words finds all', () => expect(found(' ')).toHaveLength(reference.operations.length))
  test.each([
    ['Change MY password', 'changePassword'],
    ['POST password', 'changePassword'],
    ['/v1/receipts', 'readReceipt'],
    ['accounts:person delete', 'revokeSession'],
  ])('%j finds %s', (query, id) => expect(found(query)).toContain(id))
  test('takes every word', () => expect(found('password zebra')).toEqual([]))
})

describe('a schema', () => {
  test.each([
    [{ type: 'string' }, 'string'],
    [{ $ref: '#/components/schemas/Part' }, 'Part'],
    [{ type: 'array', items: { $ref: '#/components/schemas/Part' } }, 'array of Part'],
    [{ anyOf: [{ enum: ['a', 'b'] }, { type: 'null' }] }, '"a" | "b" | null'],
    [{ const: 1 }, '1'],
    [{}, 'any'],
  ])('%j is %s', (schema, text) => expect(typeOf(schema)).toBe(text))

  test.each([
    [{ minimum: 1, maximum: 100, default: 20 }, ['1–100', 'default 20']],
    [{ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }, []],
    [{ maxLength: 500 }, ['≤ 500 characters']],
    [{ minItems: 1 }, ['≥ 1 items']],
    [{ format: 'date-time', pattern: '^\\d+$' }, ['date-time']],
  ])('%j has the bounds %j', (schema, bounds) => expect(boundsOf(schema)).toEqual(bounds))
})
