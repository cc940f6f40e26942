import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { searchStringsOf } from '#lib/stores/cache/search-strings.ts'
import { sampleSeed } from '#lib/testing/sampling.ts'
import { idsToRead, type LivingRecord, sharedRecordsOf, withoutErasedRecords } from './shared-records.ts'

const idOf = (kind: string, n: number): string => `${kind}_${String(n).padStart(22, 'A')}`
const project = idOf('prj', 1)
const conversation = idOf('conv', 1)
const erasedIds = [1, 2, 3].map((n) => idOf('msg', n))
const livingIds = [4, 5, 6].map((n) => idOf('msg', n))
const livingText = (n: number): string => `Violin number ${n} is in the "shed",\nbehind the station`
const living = new Map<string, LivingRecord>(
  livingIds.map((id, n) => [
    id,
    {
      texts: [`An earlier text ${n}`, livingText(n)],
      authors: [idOf('ppt', n), `Otto Maier`, `u-${n}`, 'otto@example.org'],
      places: [project, conversation],
      times: [new Date('2026-11-30T10:00:00Z')],
    },
  ]),
)
const manyIds = Array.from({ length: 9 }, (_, n) => idOf('msg', 100 + n))
for (const id of manyIds) living.set(id, { texts: [livingText(0)], authors: [], places: [], times: [] })
const ids = searchStringsOf(erasedIds)
const known = { erased: new Set(erasedIds), living, namesErased: ids.occursIn }
const rest = (text: string): string | undefined => {
  const shared = sharedRecordsOf(text)
  return shared && withoutErasedRecords(text, shared, known)?.text
}
const own = {
  id: erasedIds[0],
  role: 'user',
  user: 'Rosalind',
  text: 'I am seropositive',
  embedding: [0.98],
  born: '1970-01-02',
}
const their = {
  id: livingIds[0],
  role: 'user',
  user: 'Otto',
  text: livingText(0),
  created_at: '2026-11-30T10:00:00Z',
  score: 0.5,
}
const json = JSON.stringify

describe('withoutErasedRecords removes the records of erased messages', () => {
  it.each([
    ['from a list', json([own, their, own]), json([their])],
    [
      'from one list in a record',
      json({ version: 2, type: 'messages', messages: [own, their] }),
      json({ version: 2, type: 'messages', messages: [their] }),
    ],
    [
      'beside the id of the conversation',
      json({ conversation_id: conversation, items: [their, own] }),
      json({ conversation_id: conversation, items: [their] }),
    ],
    [
      'from records by their ids',
      json({ [String(own.id)]: own, [String(their.id)]: their }),
      json({ [String(their.id)]: their }),
    ],
    ['from NDJSON', `${json(own)}\r\n${json(their)}\r\n\r\n${json(own)}`, `${json(their)}\r\n\r\n`],
    [
      'with values around them',
      json([
        { id: own.id, metadata: { who: 1 } },
        { ...their, metadata: { author: { name: 'Otto Maier', id: idOf('ppt', 0) } }, embedding: [0.1, -1] },
      ]),
      json([{ ...their, metadata: { author: { name: 'Otto Maier', id: idOf('ppt', 0) } }, embedding: [0.1, -1] }]),
    ],
    [
      'from text in parts',
      json([own, { ...their, text: undefined, content: [{ type: 'text', text: livingText(0) }] }]),
      json([{ ...their, text: undefined, content: [{ type: 'text', text: livingText(0) }] }]),
    ],
  ])('%s', (_, text, expected) => {
    expect(rest(text)).toBe(expected)
  })
  it('leaves every other byte', () => {
    const kept = `  { "id" :"${livingIds[1]}", "text":"Violin number 1 is in the \\u0022shed\\u0022,\\nbehind the station" , "score": 1.50e0 }`
    expect(rest(`{ "messages" : [ ${json(own)} ,${kept}\n] ,"v":1}\n`)).toBe(`{ "messages" : [${kept}\n] ,"v":1}\n`)
  })
})

const without = (name: keyof typeof their) => ({ ...their, [name]: undefined })
describe('withoutErasedRecords removes what the registry does not explain', () => {
  const doubtful: [string, unknown, unknown][] = [
    ['a record that names no message', [own, their, { text: livingText(0) }], [their]],
    ['a record that names an unknown message', [own, their, { ...their, id: idOf('msg', 9) }], [their]],
    ['a record that names erased and remaining messages', [own, their, { ...their, source: own.id }], [their]],
    ['a removed record that names a remaining message', [{ ...own, reply_to: their.id }, their], [their]],
    ['a removed record that names an unknown message', [{ ...own, text: `see ${idOf('msg', 9)}` }, their], [their]],
    ['a record whose text names an erased message', [their, { ...their, text: `see ${own.id}` }], [their]],
    ['a record whose text is not that of the message', [own, their, { ...their, text: 'Rosalind is ill' }], [their]],
    ['a record with the text of another message', [own, their, { ...their, text: livingText(1) }], [their]],
    ['a record without a text and with more', [own, their, { id: their.id, age: 56 }], [their]],
    ['a summary', [own, { ...their, summary: livingText(0) }], [their]],
    ['an answer', [own, { ...their, answer: 'call a doctor' }], [their]],
    ['a number without a known meaning', [own, { ...their, age: 56 }], [their]],
    ['a large number', [own, { ...their, score: 4_111_111_111_111_111 }], [without('score')]],
    ['a truth value', [own, { ...their, ill: true }], [their]],
    [
      'a truth value of a known name',
      [own, { ...their, edited: true, role: true }],
      [{ ...without('role'), edited: true }],
    ],
    ['a later date', [own, { ...their, date: '2026-12-24' }], [their]],
    ['a date as a number', [own, { ...their, index: 170_190 }], [their]],
    ['a fraction as a position', [own, { ...their, seq: 4711.5 }], [their]],
    ['a negative position', [own, { ...their, seq: -4711 }], [their]],
    ['a large version', [own, { ...their, version: 1970 }], [their]],
    ['another name', [own, { ...their, user: 'Rosalind' }], [without('user')]],
    ['another id', [own, { ...their, thread_id: 'rosalind-1970' }], [their]],
    ['a telephone number as a time', [own, { ...their, ts: 491_512_345_678 }], [their]],
    ['a date of birth as a time', [own, { ...their, date: '1970-01-02' }], [their]],
    ['a text as a time', [own, { ...their, time: 'when Rosalind fell ill' }], [their]],
    ['a text that begins as a time', [own, { ...their, time: '2026-11-30 (ill)' }], [their]],
    ['values in other names of properties', [own, { ...their, metadata: { 'Rosalind is ill': null } }], [their]],
    ['numbers in a list', [own, { ...their, score: [0.98] }], [without('score')]],
    ['truth values in a list', [own, { ...their, read: [true] }], [their]],
    ['large coordinates', [own, { ...their, embedding: [0.1, 4_111_111] }], [their]],
    ['coordinates of another name', [own, { ...their, tokens: [1, 2] }], [their]],
    ['a value that is too deep', [own, { ...their, data: [[[[[[[null]]]]]]] }], [their]],
    ['a property that repeats a name', [own, { ...their, role: 'Rosalind' }], [without('role')]],
    ['a count that is not exact', { count: 3, messages: [own, their] }, { messages: [their] }],
    ['a time of the list', { updated_at: '2026-11-30', messages: [own, their] }, { messages: [their] }],
    ['a summary of the list', { summary: 'about', messages: [own, their] }, { messages: [their] }],
    ['a title', { title: 'Rosalind is ill', version: 2, messages: [own, their] }, { version: 2, messages: [their] }],
    ['a last message', { messages: [own, their], last_message: 'ill' }, { messages: [their] }],
    [
      'properties of the list',
      { messages: [own, their], metadata: { about: 'ill' }, v: 1 },
      { messages: [their], v: 1 },
    ],
    ['a large version of the list', { version: 1970, messages: [own, their] }, { messages: [their] }],
    ['an unknown kind', { type: 'HIV clinic', messages: [own, their] }, { messages: [their] }],
    ['another conversation', { conversation_id: idOf('conv', 2), messages: [own, their] }, { messages: [their] }],
    [
      'records by other names',
      { [String(own.id)]: own, ill: their, [their.id ?? '']: their },
      { [their.id ?? '']: their },
    ],
  ]
  it.each(doubtful)('%s', (_, value, expected) => {
    expect(rest(json(value))).toBe(json(expected))
  })
  it('corrects the count of the records that remain', () => {
    expect(rest(json({ count: 3, messages: [own, their, own] }))).toBe(json({ count: 1, messages: [their] }))
  })
  it('leaves every other byte when the list has a title and a count', () => {
    const kept = `{ "id" :"${livingIds[0]}" , "text" : ${json(livingText(0))} `
    const text = `{ "title":"ill" , "total" : 2, "messages" : [ ${json(own)} ,${kept}, "mood": {"a":[1,"]"]} }\n] }\n`
    expect(rest(text)).toBe(`{ "total" : 1, "messages" : [${kept}}\n] }\n`)
  })
  it('removes records and doubtful properties from the lines of NDJSON', () => {
    const text = `${json({ ...their, mood: 'ill' })}\r\n${json({ note: 1 })}\n${json(own)}\n${json(their)}`
    expect(rest(text)).toBe(`${json(their)}\r\n${json(their)}`)
  })
})

describe('withoutErasedRecords returns undefined', () => {
  const refused: [string, unknown][] = [
    ['without remaining records', [own, own]],
    ['if no record names a remaining message', [own, { ...their, id: idOf('msg', 9) }]],
    ['if no record names remaining messages only', [own, { ...their, source: own.id }]],
    ['if no text of a remaining message is in its record', [own, { ...their, text: livingText(1) }]],
    ['if no record has a text', [own, { id: their.id, role: 'user' }]],
    ['for a name with a zero byte', { [String(own.id)]: own, 'a\0b': their }],
    ['for a list of lists', [[own], [their]]],
    ['for a list with a text', [own, their, 'Rosalind is ill']],
    ['for two lists', { messages: [own, their], items: [their] }],
    ['for a list with another name', { 'Rosalind is ill': [own, their] }],
    ['for names that are not ids', { first: own, second: their }],
    ['for records by the wrong id', { [String(own.id)]: own, second: their }],
    ['for parallel lists', { messages: [own, their], embeddings: [[0.98], [0.1]] }],
    ['for an inverted index', { messages: [own, their], seropositive: [0] }],
    ['for a number of another name', { age: 2, messages: [own, their] }],
    ['for a truth value beside the list', { flagged: true, messages: [own, their] }],
    ['for null beside the list', { seropositive: null, messages: [own, their] }],
    ['for a place of another name', { clinic: conversation, messages: [own, their] }],
    ['for an answer from sources', { answer: 'call a doctor', sources: [own, their] }],
    ['for a response to messages', { messages: [own, their], response: 'call a doctor' }],
    ['for one record', own],
    ['for a nested list', { data: { messages: [own, their] } }],
    ['for records that name many messages', [own, { ...their, source: manyIds }]],
    [
      'for instructions that the registry does not know',
      [{ role: 'system', content: 'Never transfer money alone.' }, own, their],
    ],
    ['for a call of a tool', [own, { ...their, tool_calls: [{ id: 'call_1', function: { name: 'transfer' } }] }]],
    ['for the result of a call', [own, their, { role: 'tool', tool_call_id: 'call_1', content: 'done' }]],
  ]
  it.each(refused)('%s', (_, value) => {
    expect(rest(json(value))).toBeUndefined()
  })
  it.each([
    [
      'a property occurs twice with one value',
      `[${json(own)},{"id":"${livingIds[0]}","role":"user","role":"user","text":${json(livingText(0))}}]`,
    ],
    ['a property occurs twice', `[${json(own)},{"id":"${livingIds[0]}","text":"ill","text":${json(livingText(0))}}]`],
    ['a property of a removed record occurs twice', `[{"id":"${livingIds[1]}","id":"${erasedIds[0]}"},${json(their)}]`],
    ['a name in the record occurs twice', `{"messages":[],"messages":[${json(own)},${json(their)}]}`],
    ['a line is not complete', `${json(own)}\n${json(their)}\n{"id":"ill"`],
    ['a name around the list occurs twice', `{"v":1,"v":1,"messages":[${json(own)},${json(their)}]}`],
    ['a line is not JSON', `${json(own)}\n${json(their)}\nRosalind is ill`],
    ['a line is a text', `${json(own)}\n${json(their)}\n"ill"`],
    ['text follows', `[${json(own)},${json(their)}] Rosalind is ill`],
    ['a comment is between them', `[${json(own)},/* ill */${json(their)}]`],
    ['it is not valid', `[${json(own)},${json(their)},]`],
    ['it is CSV', `id,text\n${own.id},ill\n${their.id},shed`],
  ])('if %s', (_, text) => {
    expect(rest(text)).toBeUndefined()
  })
})

const many = (n: number): string[] => Array.from({ length: n }, (_, at) => `{"id":"a${at}","source":"b${at}"}`)
it.each([
  ['a list of 2,001 records', `[${many(2_001).join(',')}]`],
  ['2,001 lines', many(2_001).join('\n')],
  ['a million and one characters', `[{"id":"${'a'.repeat(1_000_001 - 11)}"}]`],
  ['a name with a zero byte', json({ a: {}, 'b\0': {} })],
])('sharedRecordsOf returns undefined for %s', (_, text) => {
  expect(sharedRecordsOf(text)).toBeUndefined()
})
it('withoutErasedRecords reads at most 100 properties around a list', () => {
  const textOf = (n: number) =>
    `{${Array.from({ length: n }, (_, at) => `"${'_'.repeat(at)}title":"ill"`).join(',')},"messages":[${json(own)},${json(their)}]}`
  expect([100, 101].map((n) => rest(textOf(n)))).toEqual([json({ messages: [their] }), undefined])
})
it('idsToRead returns undefined for more than 2,000 ids', () => {
  const idsOf = (n: number) => {
    const shared = sharedRecordsOf(`[${many(n).join(',')}]`)
    return shared && idsToRead(shared, new Set())?.length
  }
  expect([idsOf(1_000), idsOf(1_001)]).toEqual([2_000, undefined])
})

it('sharedRecordsOf reads every text that JSON.parse reads, and no other', () => {
  const value = fc.json({ maxDepth: 4 })
  const damaged = fc
    .tuple(value, fc.nat(), fc.constantFrom('', '"', ',', '{', ']', '\\', ':', '1'))
    .map(([text, at, sign]) => {
      const place = at % (text.length + 1)
      return text.slice(0, place) + sign + text.slice(place + 1)
    })
  fc.assert(
    fc.property(fc.oneof(value, damaged), (one) => {
      const text = `[{"id":"a"},{"x":${one}}]`
      const isValid = (() => {
        try {
          const parsed = JSON.parse(text)
          return Array.isArray(parsed) && parsed.every((item) => typeof item === 'object' && !Array.isArray(item))
        } catch {
          return false
        }
      })()
      const shared = sharedRecordsOf(text)
      if (!isValid) expect(shared).toBeUndefined()
      // Names of properties in the generated value may be equal.
      else if (shared) {
        expect(JSON.parse(shared.edited(new Map()))).toEqual(JSON.parse(text))
        expect(JSON.parse(shared.edited(new Map([[0, null]])))).toEqual(JSON.parse(text).slice(1))
        expect(JSON.parse(shared.edited(new Map([[1, '{}']])))).toEqual([{ id: 'a' }, {}])
        expect(shared.records.map(({ start, end }) => JSON.parse(text.slice(start, end)))).toEqual(JSON.parse(text))
      }
    }),
    { numRuns: 2_000, seed: sampleSeed },
  )
})

it.each(['[', '{"a":'])('sharedRecordsOf reads 100,000 levels of %s', (opening) => {
  const closing = opening === '[' ? ']' : '}'
  const deep = `${opening.repeat(100_000)}null${closing.repeat(100_000)}`
  expect(rest(`[${json(own)},{"id":"${livingIds[0]}","data":${deep}}]`)).toBeUndefined()
  expect(rest(`[{"id":"${livingIds[0]}","text":${json(livingText(0))},"data":${deep}}]`)).toBe(
    `[{"id":"${livingIds[0]}","text":${json(livingText(0))}}]`,
  )
  expect(rest(`[{"id":"${erasedIds[0]}","data":${deep}},${json(their)}]`)).toBe(json([their]))
})

it.each([
  [
    'many records of one message',
    (n: number) => `[${json(own)},${Array.from({ length: n }, () => json(their)).join(',')}]`,
  ],
  [
    'many properties',
    (n: number) =>
      `{"messages":[${json(own)},${json(their)}],${Array.from({ length: n }, (_, at) => `"type${at}":1`).join(',')}}`,
  ],
  ['backslashes', (n: number) => `[${json(own)},{"id":"${livingIds[0]}","text":"${'\\\\'.repeat(n)}"}]`],
  ['quotation marks', (n: number) => `[${json(own)},{"id":"${livingIds[0]}","text":"${'\\"'.repeat(n)}"}]`],
  ['brackets', (n: number) => '['.repeat(n)],
  ['lines', (n: number) => `${json(own)}\n`.repeat(n)],
  ['blanks', (n: number) => `[${' '.repeat(n)}${json(own)}${'\n'.repeat(n)}`],
])('withoutErasedRecords asks about each character once for %s', (_, textOf) => {
  const asked = (n: number): number => {
    let characters = 0
    const text = textOf(n)
    const shared = sharedRecordsOf(text)
    const namesErased = (part: string) => {
      characters += part.length
      return ids.occursIn(part)
    }
    if (shared) withoutErasedRecords(text, shared, { ...known, namesErased })
    return characters
  }
  expect(asked(20_000)).toBeLessThanOrEqual(2.5 * asked(10_000) + 1_000)
})

const secrets = ['seropositive', '4111111111111111', '1970-01-02', '0.987654321', 'Rosalind', 'true']
/** A value in which data of the erased person may be anywhere. */
const anywhere = fc.tuple(
  fc.constantFrom('list', 'record', 'ids', 'lines'),
  fc.array(
    fc.record({
      isErased: fc.boolean(),
      n: fc.nat(2),
      more: fc.array(
        fc.tuple(
          fc.constantFrom(
            'text',
            'user',
            'created_at',
            'score',
            'embedding',
            'metadata',
            'age',
            'ill',
            'answer',
            'id',
            'source',
            'note',
          ),
          fc.constantFrom<unknown>(
            'seropositive',
            4_111_111_111_111_111,
            '1970-01-02',
            [0.987654321, 2_000],
            'Rosalind',
            true,
            { age: 56 },
            null,
          ),
        ),
        { maxLength: 1 },
      ),
      isSpoiled: fc.nat(9).map((n) => n === 0),
    }),
    { minLength: 1, maxLength: 6 },
  ),
  fc.option(
    fc.tuple(
      fc.constantFrom('count', 'summary', 'version', 'type', 'last', 'flagged'),
      fc.constantFrom<unknown>(2, 'seropositive', true, 'list', '1970-01-02'),
    ),
  ),
)
it('withoutErasedRecords leaves no data of an erased person, and every byte of the records of others', () => {
  let cut = 0
  fc.assert(
    fc.property(anywhere, ([shape, items, beside]) => {
      const records = items.map(({ isErased, n, more, isSpoiled }) => {
        const record = isErased
          ? {
              id: erasedIds[n],
              text: 'seropositive',
              card: '4111111111111111',
              born: '1970-01-02',
              vector: [0.987654321],
              user: 'Rosalind',
              ill: true,
            }
          : { id: livingIds[n], text: livingText(n), user: 'Otto', ts: 1_796_032_800 }
        return isErased || isSpoiled ? { ...record, ...Object.fromEntries(more) } : record
      })
      const around = beside ? { [beside[0]]: beside[1] } : {}
      const text =
        shape === 'list'
          ? json(records)
          : shape === 'record'
            ? json({ ...around, messages: records })
            : shape === 'ids'
              ? json(Object.fromEntries(records.map((one) => [one.id, one])))
              : records.map((one) => json(one)).join('\n')
      const left = rest(text)
      if (left === undefined) return
      cut++
      for (const secret of secrets) expect(left).not.toContain(secret)
      const remaining = shape === 'ids' ? [...new Map(records.map((one) => [one.id, one])).values()] : records
      const texts = remaining.flatMap((one) =>
        'text' in one && livingIds.includes(String(one.id)) ? [String(one.text)] : [],
      )
      for (const one of texts) if (one.startsWith('Violin')) expect(left).toContain(json(one))
      expect(JSON.stringify(left)).not.toContain('msg_AAAAAAAAAAAAAAAAAAAAA1')
    }),
    { numRuns: 3_000, seed: sampleSeed },
  )
  expect(cut).toBeGreaterThan(100)
})

it('reads NDJSON with many blank lines in linear time', () => {
  const text = [json(own), '\n'.repeat(900_000), json(their)].join('\n')
  expect(rest(text)).toContain(json(their))
})
