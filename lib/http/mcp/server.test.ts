import { expect, it } from 'vitest'
import { z } from 'zod'
import { portable } from './server.ts'
import { tools } from './tools.ts'

const schemaOf = (schema: z.ZodType) => portable(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }))

it.each([
  [
    'constraints of one of several types',
    { type: ['string', 'null'], minLength: 1, description: 'x' },
    { description: 'x', anyOf: [{ type: 'string', minLength: 1 }, { type: 'null' }] },
  ],
  [
    'items of one of several types',
    { type: ['array', 'string'], items: { type: ['integer', 'null'] }, maxLength: 3 },
    {
      anyOf: [
        { type: 'array', items: { anyOf: [{ type: 'integer' }, { type: 'null' }] } },
        { type: 'string', maxLength: 3 },
      ],
    },
  ],
  [
    'values by their type',
    { type: ['string', 'null'], enum: ['a', null] },
    {
      anyOf: [
        { type: 'string', enum: ['a'] },
        { type: 'null', enum: [null] },
      ],
    },
  ],
  [
    'alternatives beside several types',
    { type: ['string', 'null'], anyOf: [{ minLength: 1 }] },
    { type: ['string', 'null'], anyOf: [{ minLength: 1 }] },
  ],
  [
    'properties that are named as keywords',
    { properties: { type: { type: 'string' }, additionalProperties: {}, const: { const: 'a' } } },
    { properties: { type: { type: 'string' }, additionalProperties: {}, const: { enum: ['a'] } } },
  ],
  [
    'default values',
    { type: 'object', default: { additionalProperties: {}, type: ['x'] } },
    { type: 'object', default: { additionalProperties: {}, type: ['x'] } },
  ],
  [
    'names of properties',
    { type: 'object', propertyNames: { type: 'string' }, additionalProperties: {} },
    { type: 'object', additionalProperties: true },
  ],
  [
    'references',
    {
      properties: { one: { $ref: '#/$defs/a', description: 'x' }, other: { $ref: '#/$defs/b' } },
      $defs: { a: { type: 'array', items: { $ref: '#/$defs/a' } }, b: { type: 'string' } },
    },
    {
      properties: { one: { type: 'array', items: { $ref: '#/$defs/a' }, description: 'x' }, other: { type: 'string' } },
      $defs: { a: { type: 'array', items: { $ref: '#/$defs/a' } } },
    },
  ],
])('keeps %s', (_, given, made) => {
  expect(portable(given)).toEqual(made)
})

it('writes every input and output with the keywords that clients read', () => {
  const read = new Set(
    '$schema $ref $defs type properties required additionalProperties items enum anyOf description default format pattern minLength maxLength minimum maximum minItems maxItems'.split(
      ' ',
    ),
  )
  const unread = new Set<string>()
  const walk = (schema: unknown): void => {
    if (typeof schema !== 'object' || schema === null) return
    for (const [keyword, value] of Object.entries(schema)) {
      if (!read.has(keyword)) unread.add(keyword)
      if (keyword === 'type' && typeof value !== 'string') unread.add('several types')
      if (keyword === 'properties') for (const one of Object.values(value)) walk(one)
      if (keyword === 'items' || keyword === 'additionalProperties') walk(value)
      if (keyword === 'anyOf') for (const one of value) walk(one)
    }
    if ('anyOf' in schema && 'type' in schema) unread.add('type beside anyOf')
  }
  // Values of any JSON are in units only.
  for (const { name, input } of tools)
    if (!name.startsWith('contribute_'))
      expect([name, JSON.stringify(schemaOf(input)).includes('$ref')]).toEqual([name, false])
  for (const { input, output } of tools) for (const schema of [input, output]) walk(schemaOf(schema))
  expect([...unread]).toEqual([])
})
