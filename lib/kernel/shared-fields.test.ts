import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { time } from './operation.ts'

const View = z.strictObject({ at: time(), until: time({ description: 'The end' }).nullable() })

describe('time', () => {
  it('encodes a Date as ISO 8601 text in UTC', () => {
    expect(View.parse({ at: new Date(0), until: new Date('2026-11-30T09:00:00+01:00') })).toEqual({
      at: '1970-01-01T00:00:00.000Z',
      until: '2026-11-30T08:00:00.000Z',
    })
  })

  it('accepts text that is already encoded, and null where the contract allows it', () => {
    const encoded = { at: '2026-11-30T08:00:00.000Z', until: null }
    expect(View.parse(encoded)).toEqual(encoded)
  })

  it('rejects an invalid Date, a local time and a number', () => {
    for (const at of [new Date(Number.NaN), '2026-11-30T08:00:00', 0])
      expect(View.safeParse({ at, until: null }).success).toBe(false)
  })

  it('has the JSON Schema of a time with its description', () => {
    const described = z.iso.datetime().meta({ description: 'The end' })
    const schemaOf = (type: z.ZodType) => JSON.stringify(z.toJSONSchema(type, { io: 'output' }))
    expect(schemaOf(time({ description: 'The end' }))).toBe(schemaOf(described))
  })
})
