import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { openApi } from '#lib/http/openapi.ts'
import { operation } from '#lib/kernel/operation.ts'
import { boundsOf, matching, referenceOf, typeOf } from './document.ts'

const Part = z.object({ size: z.int().min(1).max(100).default(20) }).meta({ id: 'Part' })
const made = operation({
  id: 'makePart',
  method: 'post',
  path: '/v1/parts/{id}',
  summary: 'Make a part',
  permission: 'parts:write',
  audit: { action: 'create', resourceType: 'part' },
  limit: 'write',
  status: 201,
  params: z.strictObject({ id: z.string().max(64) }),
  body: z.strictObject({ part: Part, kind: z.enum(['a', 'b']).nullable() }),
  output: z.object({ data: z.array(Part) }),
})
const reference = referenceOf(openApi([made], '1.2.3'))

describe('the document that the API is described by', () => {
  test('is read with its operations and the schemas they name', () => {
    expect(reference.version).toBe('1.2.3')
    expect(reference.operations).toMatchObject([
      { method: 'post', path: '/v1/parts/{id}', 'x-permission': 'parts:write' },
    ])
    expect(Object.keys(reference.schemas)).toContain('Part')
  })

  test('is refused when it is another', () => expect(() => referenceOf({ paths: [] })).toThrow())
})

describe('the filter', () => {
  const found = (query: string) => [...matching(reference.operations, query).values()].flat().length
  test.each([
    ['', 1],
    ['part', 1],
    ['POST write', 1],
    ['make zebra', 0],
    ['zebra', 0],
  ])('%j finds %i', (query, count) => expect(found(query)).toBe(count))
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
