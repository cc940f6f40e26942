import { describe, expect, it } from 'vitest'
import {
  createLoader,
  createSerializer,
  parseAsString,
  parseAsStringLiteral,
  readQuery,
  writeQuery,
} from './query-parsers.ts'

const parsers = {
  q: parseAsString,
  name: parseAsString.withDefault(''),
  state: parseAsStringLiteral(['open', 'closed']),
  view: parseAsStringLiteral(['all', 'mine']).withDefault('all'),
}
const read = (query: string) => readQuery(parsers, new URLSearchParams(query))

describe('readQuery', () => {
  it.each([
    ['', { q: null, name: '', state: null, view: 'all' }],
    ['q=&name=a+b&state=closed&view=mine', { q: '', name: 'a b', state: 'closed', view: 'mine' }],
    ['q=%E5%88%A0&state=unknown&view=__proto__&other=1', { q: '删', name: '', state: null, view: 'all' }],
    ['state=open&state=closed', { q: null, name: '', state: 'open', view: 'all' }],
  ])('of %j returns its values', (query, values) => {
    expect(read(query)).toEqual(values)
  })
})

describe('writeQuery', () => {
  const write = (query: string, values: Parameters<typeof writeQuery<typeof parsers>>[2]) =>
    writeQuery(parsers, new URLSearchParams(query), values).toString()

  it('sets values and keeps all other parameters', () => {
    expect(write('tab=2&q=a', { q: 'b', view: 'mine' })).toBe('tab=2&q=b&view=mine')
  })

  it('removes a parameter for null and for its default', () => {
    expect(write('q=a&state=open&view=mine', { q: null, view: 'all' })).toBe('state=open')
  })

  it('removes all parameters with a parser for null', () => {
    expect(write('q=a&tab=2&state=open&view=mine&name=b', null)).toBe('tab=2')
  })
})

describe('createSerializer', () => {
  const addressOf = createSerializer(parsers)

  it('returns the path without a query when all values are defaults', () => {
    expect(addressOf('/list', { q: null, view: 'all' })).toBe('/list')
  })

  it('returns a query that reads as the same values', () => {
    const values = { q: '2026-01-31T12:00:00Z & 50 % #1?+"<删>', name: 'a@b.c/d', state: 'open', view: 'mine' } as const
    const address = addressOf('/list', values)
    expect(address).toContain('2026-01-31T12:00:00Z')
    expect(read(new URL(address, 'http://localhost').search)).toEqual(values)
  })
})

describe('createLoader', () => {
  const load = createLoader(parsers)

  it('reads the parameters that Next passes, and the first of repeated ones', async () => {
    const params = Promise.resolve({ q: ['one', 'two'], state: 'open', view: undefined })
    expect(await load(params)).toEqual({ q: 'one', name: '', state: 'open', view: 'all' })
  })
})
