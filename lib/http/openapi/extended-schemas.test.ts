import { expect, it } from 'vitest'
import { extendedSchemas } from './extended-schemas.ts'

const text = (description: string) => ({ type: 'string', description })
const properties = {
  id: text('The id, with a description that is long enough to save something'),
  state: text('The state, with a description that is long enough to save something'),
}
const base = { type: 'object', properties, required: ['id'] }

it('extendedSchemas() refers to the schema whose properties another one repeats', () => {
  const detail = { type: 'object', properties: { ...properties, notes: text('Notes') }, required: ['id', 'notes'] }
  expect(extendedSchemas({ Base: base, Detail: detail })).toEqual({
    Base: base,
    Detail: {
      allOf: [
        { $ref: '#/components/schemas/Base' },
        { type: 'object', properties: { notes: text('Notes') }, required: ['notes'] },
      ],
    },
  })
})

it.each([
  [
    'a property differs',
    { properties: { ...properties, id: text('Another id'), notes: text('Notes') }, required: ['id'] },
  ],
  [
    'a property is required in one only',
    { properties: { ...properties, notes: text('Notes') }, required: ['id', 'state'] },
  ],
  [
    'more properties are forbidden',
    { properties: { ...properties, notes: text('Notes') }, required: ['id'], additionalProperties: false },
  ],
  ['the properties are the same', { properties, required: ['id'] }],
])('extendedSchemas() keeps a schema when %s', (_, other) => {
  const schemas = { Base: base, Other: { type: 'object', ...other } }
  expect(extendedSchemas(schemas)).toEqual(schemas)
})
