import { expect, it } from 'vitest'
import { schemaExtensions } from './extended-schemas.ts'

const text = (description: string) => ({ type: 'string', description })
const properties = {
  id: text('The id, with a description that is long enough to save something'),
  state: text('The state, with a description that is long enough to save something'),
}
const base = { type: 'object', properties, required: ['id'] }
const reference = { $ref: '#/components/schemas/Base' }
const detail = { type: 'object', properties: { ...properties, notes: text('Notes') }, required: ['id', 'notes'] }
const shortDetail = {
  allOf: [reference, { type: 'object', properties: { notes: text('Notes') }, required: ['notes'] }],
}

it('schemaExtensions() refers to the shared schema whose properties a schema repeats', () => {
  const { extended, extendedComponent } = schemaExtensions({ Base: base, Detail: detail })
  expect(extendedComponent(detail)).toEqual(shortDetail)
  expect(extendedComponent({ type: 'array', items: base })).toEqual({ type: 'array', items: reference })
  expect(extended({ '/v1/bases': { schema: { properties: { data: base } } } })).toEqual({
    '/v1/bases': { schema: { properties: { data: reference } } },
  })
})

it('schemaExtensions() keeps a shared schema that equals another one', () => {
  const { extendedComponent } = schemaExtensions({ Base: base, Same: { ...base } })
  expect(extendedComponent(base)).toEqual(base)
})

it.each([
  ['a property differs', { properties: { ...detail.properties, id: text('Another id') }, required: ['id'] }],
  ['a property is required in one only', { properties: detail.properties, required: ['id', 'state'] }],
  ['other properties are rejected', { ...detail, additionalProperties: false }],
])('schemaExtensions() keeps a schema when %s', (_, other) => {
  const schema = { type: 'object', ...other }
  expect(schemaExtensions({ Base: base }).extended(schema)).toEqual(schema)
})

it('schemaExtensions() shares named fields only when two schemas have them', () => {
  const two = {
    '/v1/bases': { get: detail, put: { ...detail, properties: { ...detail.properties, at: text('Time') } } },
  }
  expect(schemaExtensions({}, { Base: base }, two).used).toEqual({ Base: base })
  expect(schemaExtensions({}, { Base: base }, two).extended(two)['/v1/bases'].get).toEqual(shortDetail)
  const one = { '/v1/bases': { get: detail } }
  expect(schemaExtensions({}, { Base: base }, one).used).toEqual({})
  expect(schemaExtensions({}, { Base: base }, one).extended(one)).toEqual(one)
})
