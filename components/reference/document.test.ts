import { describe, expect, test } from 'vitest'
import openApi from '../../openapi.json' with { type: 'json' }
import { addressOfAnchor, boundsOf, matching, referenceOf, type ShownSchema, typeOf } from './document.ts'
import { schemaText } from './schema-text.ts'

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
  const found = (query: string) => matching(reference.operations, query).map(({ operationId }) => operationId)
  test('returns all operations for an empty query', () => expect(found(' ')).toHaveLength(reference.operations.length))
  test.each([
    ['Change MY password', 'changePassword'],
    ['POST password', 'changePassword'],
    ['/v1/receipts', 'readReceipt'],
    ['accounts:person delete', 'revokeSession'],
  ])('returns for the query %j the operation %s', (query, id) => expect(found(query)).toContain(id))
  test('requires every word', () => expect(found('password zebra')).toEqual([]))
})

describe('addressOfAnchor', () => {
  test.each([
    ['changePassword', '/docs/api/account#changePassword'],
    ['tag-llm-log', '/docs/api/llm-log'],
    ['tag-nothing', undefined],
    ['not_found', undefined],
  ])('returns for the anchor %j the address %j', (anchor, address) =>
    expect(addressOfAnchor(reference, anchor)).toBe(address),
  )
  test('returns an address for every operation', () =>
    expect(reference.operations.filter(({ operationId }) => !addressOfAnchor(reference, operationId))).toEqual([]))
  test('finds every operation in exactly one group', () =>
    expect(reference.groups.flatMap(({ operations }) => operations)).toHaveLength(reference.operations.length))
})

describe('schemaText', () => {
  const text = (schema: ShownSchema, schemas = {}) =>
    schemaText(schema, schemas).map(({ depth, code, note }) => `${'  '.repeat(depth)}${code}${note && ` // ${note}`}`)
  test('writes fields with optional marks, notes and nested objects', () =>
    expect(
      text({
        properties: {
          name: { type: 'string', maxLength: 5, description: 'Shown to members' },
          tags: { type: 'array', items: { properties: { id: { type: 'integer' } }, required: ['id'] } },
        },
        required: ['name'],
      }),
    ).toEqual([
      '{',
      '  name: string // Shown to members · ≤ 5 characters',
      '  tags?: {',
      '    id: integer',
      '  }[]',
      '}',
    ]))
  test('expands a named schema once and names it where it recurs', () =>
    expect(
      text(
        { $ref: '#/components/schemas/Node' },
        { Node: { properties: { next: { $ref: '#/components/schemas/Node' } } } },
      ),
    ).toEqual(['{', '  next?: Node', '}']))
  test('writes alternatives one after the other and null last', () =>
    expect(text({ anyOf: [{ properties: { a: { const: 1 } } }, { type: 'string' }, { type: 'null' }] })).toEqual([
      '{',
      '  a?: 1',
      '}',
      '| string | null',
    ]))
})

describe('schema text', () => {
  test.each([
    [{ type: 'string' }, 'string'],
    [{ $ref: '#/components/schemas/Part' }, 'Part'],
    [{ type: 'array', items: { $ref: '#/components/schemas/Part' } }, 'Part[]'],
    [{ type: 'array', items: { enum: ['a', 'b'] } }, '("a" | "b")[]'],
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
