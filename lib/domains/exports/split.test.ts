import { describe, expect, it } from 'vitest'
import { Problem } from '#lib/kernel/problem.ts'
import { jsonSplitter, ndjsonSplitter, type Piece, type Splitter } from './split.ts'

const options = { recordBytes: 1_000, isWanted: (part: string) => part === 'units' }
type ParserEvent =
  | { part: string; value: unknown }
  | { part: string; fault: string }
  | { part: string; isIgnored: true }
  | { name: string; value: unknown }
const reported = (piece: Piece): ParserEvent => {
  if ('bytes' in piece) return { part: piece.part, value: JSON.parse(Buffer.from(piece.bytes).toString()) }
  if ('fault' in piece) return { part: piece.part, fault: piece.fault.code }
  return piece
}
/** Splits a document that arrives in pieces of this size. */
function split(make: () => Splitter, text: string | Uint8Array, size: number): ParserEvent[] {
  const splitter = make()
  const bytes = Buffer.from(text)
  const pieces: ParserEvent[] = []
  for (let at = 0; at < bytes.length; at += size)
    pieces.push(...splitter.feed(bytes.subarray(at, at + size)).map(reported))
  return [...pieces, ...splitter.end().map(reported)]
}
const json = (text: string | Uint8Array, size = 7) => split(() => jsonSplitter(options), text, size)
const ndjson = (text: string | Uint8Array, size = 7) => split(() => ndjsonSplitter(options), text, size)
const codeOf = (run: () => unknown): string => {
  try {
    run()
    return 'none'
  } catch (error) {
    return Problem.is(error) ? error.code : String(error)
  }
}

const records = [
  { id: 'a', text: 'brackets ]}, "quotes", \\ and a 🌊' },
  { id: 'b', deep: [[{ x: [1, 2] }]] },
  'text',
  7,
  null,
  [],
]
const document = {
  agent_id: 'a',
  'odd "name"': { deep: [1] },
  units: records,
  total_units: 6,
  empty: [],
  others: [{ x: 1 }, 2],
}
const whole: ParserEvent[] = [
  { name: 'agent_id', value: 'a' },
  { name: 'odd "name"', value: { deep: [1] } },
  ...records.map((value) => ({ part: 'units', value })),
  { name: 'total_units', value: 6 },
  { part: 'others', isIgnored: true },
  { part: 'others', isIgnored: true },
]

describe('jsonSplitter', () => {
  it.each([1, 2, 3, 7, 64, 100_000])('returns the same pieces for chunks of %d bytes and any white space', (size) => {
    expect(json(JSON.stringify(document), size)).toEqual(whole)
    expect(json(`\uFEFF${JSON.stringify(document, null, '\t\r')}\n `, size).length).toBe(whole.length)
  })
  it.each([1, 2, 7, 64, 100_000])(
    'returns the properties of the object under the only property data for chunks of %d bytes',
    (size) => {
      const data = {
        agent_id: 'a',
        units: [{ id: 'a' }],
        reputation: { history: ['x'.repeat(20_000)] },
        keys: [1],
        n: 2,
      }
      expect(json(JSON.stringify({ data }), size)).toEqual([
        { name: 'agent_id', value: 'a' },
        { part: 'units', value: { id: 'a' } },
        { part: 'reputation', isIgnored: true },
        { part: 'keys', isIgnored: true },
        { name: 'n', value: 2 },
      ])
      expect(json('{"data": {} }', size)).toEqual([])
    },
  )
  it.each(['{"data":{"a":1}', '{"data":{"a":1},"b":2}', '{"data":{"a":1,}}', '{"data":{}}}'])(
    'rejects %s with malformed_json',
    (text) => expect(codeOf(() => json(text))).toBe('malformed_json'),
  )
  it('returns a property data that is not the first as part of the head', () =>
    expect(json('{"a":1,"data":{"b":2}}')).toEqual([
      { name: 'a', value: 1 },
      { name: 'data', value: { b: 2 } },
    ]))
  it('returns nothing for an empty object', () => expect(json(' { } ')).toEqual([]))

  it.each([
    ['', 'ends too early'],
    ['[]', 'is no object'],
    ['{"units":[{"id":1}', 'ends in an array'],
    ['{"units":[{"id":"', 'ends in a string'],
    ['{"units":[1,]}', 'has a comma too many'],
    ['{"units":[1 2]}', 'lacks a comma'],
    ['{"units":[}', 'mixes brackets'],
    ['{"units":[1],}', 'has a comma at its end'],
    ['{units:[]}', 'has a name without quotes'],
    ['{"a":1}{"a":1}', 'has another behind it'],
    ['{"a" 1}', 'lacks a colon'],
    ['{"a":tru}', 'has an invalid value'],
  ])('rejects %s, which %s, with malformed_json', (text) => expect(codeOf(() => json(text))).toBe('malformed_json'))

  it('skips a record that is too large and continues with the next one', () => {
    const text = JSON.stringify({ units: [{ text: 'x'.repeat(2_000) }, { id: 'b' }] })
    for (const size of [1, 333, 10_000])
      expect(json(text, size)).toEqual([
        { part: 'units', fault: 'too_large' },
        { part: 'units', value: { id: 'b' } },
      ])
  })
  it('rejects a head property or a name that is too large', () => {
    expect(codeOf(() => json(`{"agent_id":"${'x'.repeat(100_000)}"}`))).toBe('too_large')
    expect(codeOf(() => json(`{"${'x'.repeat(100_000)}":1}`))).toBe('too_large')
  })
  it('skips a record of a million nested brackets as too large', () => {
    const deep = `{"units":[${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}]}`
    expect(json(deep, 65_536)).toEqual([{ part: 'units', fault: 'too_large' }])
  })
})

describe('ndjsonSplitter', () => {
  const lines = [
    { agent_id: 'a', scope: 'all' },
    { part: 'units', id: 'a' },
    { id: 'b', part: 'units' },
    { part: 'others', x: 1 },
    { total_units: 2 },
  ]
  const apart: ParserEvent[] = [
    { name: 'agent_id', value: 'a' },
    { name: 'scope', value: 'all' },
    { part: 'units', value: lines[1] },
    { part: 'units', value: lines[2] },
    { part: 'others', isIgnored: true },
    { name: 'total_units', value: 2 },
  ]
  it.each([1, 7, 100_000])(
    'returns the same pieces for chunks of %d bytes, with or without a final line break',
    (size) => {
      const text = lines.map((line) => JSON.stringify(line)).join('\r\n\n')
      expect(ndjson(text, size)).toEqual(apart)
      expect(ndjson(`${text}\n`, size)).toEqual(apart)
    },
  )
  it('skips a line that is too large or names no part, and returns its fault', () => {
    const text = `{"part":"units","x":"${'x'.repeat(5_000)}"}\n{"id":"c"}\n{"part":"units","id":"b"}\n`
    expect(ndjson(text)).toEqual([
      { part: '', fault: 'too_large' },
      { part: '', fault: 'invalid' },
      { part: 'units', value: { part: 'units', id: 'b' } },
    ])
  })
  it.each(['[1]', 'words', '{"agent_id":', '\xff'])('rejects %j with malformed_json', (text) =>
    expect(codeOf(() => ndjson(text))).toBe('malformed_json'),
  )
})
