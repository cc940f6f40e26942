import { describe, expect, it } from 'vitest'
import type { Source } from '../provenance/sources.ts'
import { Fingerprints } from './fingerprints.ts'
import { addNumbersOf, ConsecutiveMessages, phoneNumbersIn } from './run-words.ts'

const message = (id: number, author: string, text: string, conversation = 'conv_1'): Source => ({
  kind: 'message',
  id: `msg_${id}`,
  project: 'proj_1',
  group: 'group_1',
  conversation,
  threads: [],
  createdAt: new Date(id * 1_000),
  ordinal: null,
  author: { kind: 'participant', id: author, name: null },
  texts: [text],
  objects: [],
  files: [],
  pointers: [],
})
const wordsOf = (...messages: Source[]): Fingerprints => {
  const consecutive = new ConsecutiveMessages()
  for (const one of messages) consecutive.add(one)
  const found = new Fingerprints()
  for (const text of consecutive.texts()) found.add(text)
  return found
}
const lines = ['hi', 'i have hiv', 'since last may', 'pls dont tell']
const chat = lines.map((text, at) => message(at, 'anna', text))

it.each([
  ['a transcript', lines.map((line) => `Anna: ${line}`).join('\n')],
  ['a transcript with times', lines.map((line, at) => `[2026-01-02 10:3${at}] Anna: ${line}`).join('\n')],
  ['a list of one author', JSON.stringify(lines)],
  ['a list of messages', JSON.stringify(lines.map((content) => ({ role: 'user', content })))],
  ['one line', lines.join(' ')],
])('runs across short messages are found in %s', (_, text) => {
  expect(wordsOf(...chat.toReversed()).runsIn(text).length).toBeGreaterThan(0)
})
it('runs are not found when somebody else wrote between all messages', () => {
  const text = lines.map((line) => `Anna: ${line}\nBen: yes of course my dear`).join('\n')
  expect(wordsOf(...chat).runsIn(text)).toEqual([])
})
it('runs are found across messages as they were before some of them were edited', () => {
  const edited = (id: number, ...texts: string[]): Source => ({ ...message(id, 'anna', ''), texts })
  // The current text is the first one, then follow the earlier ones.
  const words = wordsOf(
    edited(1, 'never mind it', 'i have hiv'),
    edited(2, 'since last may'),
    edited(3, 'third version of', 'pls dont tell', 'second version is'),
    edited(4, 'anyone at work'),
  )
  for (const found of [
    'i have hiv since last may',
    'never mind it since last may',
    'since last may pls dont tell',
    'since last may second version is',
    'second version is anyone at work',
    'third version of anyone at work',
  ])
    expect(words.runsIn(found), found).not.toEqual([])
})
it.each([2, 3])('runs are found in the order of writing when %i messages have equal times', (count) => {
  const written = ['i have hiv', 'since last may', 'pls dont tell']
  const texts = written.slice(0, count)
  // The ids have no order, like random ones.
  const tied = texts.map((text, at) => ({ ...message((at * 5) % 7, 'anna', text), createdAt: new Date(0) }))
  const first = message(-1, 'anna', 'hello to you')
  const last = { ...message(9, 'anna', 'good night all'), createdAt: new Date(10_000) }
  const words = wordsOf(first, ...tied, last)
  for (const [at, text] of texts.entries())
    if (at > 0) expect(words.runsIn(`${texts[at - 1]} ${text}`), text).not.toEqual([])
  expect(words.runsIn(`hello to you ${texts[0]}`)).not.toEqual([])
  expect(words.runsIn(`${texts.at(-1)} good night all`)).not.toEqual([])
})
it('any number of messages with equal times is joined in the order in which they were stored, and in no other one', () => {
  const texts = Array.from({ length: 40 }, (_, at) => `a${at} b${at} c${at} d${at}`)
  const stored = texts.map((text, at) => ({
    ...message((at * 17) % 40, 'anna', text),
    createdAt: new Date(0),
    ordinal: 100 + at,
  }))
  const words = wordsOf(...stored.toReversed())
  for (const [at, text] of texts.entries()) {
    if (at > 0) expect(words.runsIn(`${texts[at - 1]} ${text}`).length, text).toBe(3)
    if (at > 1) expect(words.runsIn(`${text} ${texts[at - 2]}`), text).toEqual([])
  }
})
it('four messages with equal times are not joined in orders that nobody wrote', () => {
  const texts = ['thank you so much', 'i am not', 'sure about that', 'so it goes']
  const tied = texts.map((text, at) => ({ ...message(at, 'anna', text), createdAt: new Date(0) }))
  expect(wordsOf(...tied).runsIn('sure about that thank you so much')).toEqual([])
})
it('many messages with equal times are joined to a bounded amount of text', () => {
  const consecutive = new ConsecutiveMessages()
  for (let at = 0; at < 500; at++)
    consecutive.add({
      ...message(at, 'anna', `word${at} and then another day of my long life came to its end`),
      createdAt: new Date(Math.floor(at / 3)),
    })
  const joined = [...consecutive.texts()]
  // All of them once, and 50 groups of three in six orders.
  expect(joined.length).toBeLessThanOrEqual(1 + 50 * 6)
  expect(joined.reduce((sum, { length }) => sum + length, 0)).toBeLessThan(300_000)
})
it('many messages with equal times are joined by the numbers in their ids', () => {
  const tied = Array.from({ length: 60 }, (_, at) => ({
    ...message(at, 'anna', `word${at} of my life`),
    createdAt: new Date(0),
  }))
  const words = wordsOf(...tied)
  for (let at = 1; at < 60; at++)
    expect(words.runsIn(`word${at - 1} of my life word${at} of my life`).length, `${at}`).toBe(3)
})
it('messages of other authors and conversations are not joined', () => {
  const mixed = [
    message(1, 'anna', 'i have hiv'),
    message(2, 'ben', 'since last may'),
    message(3, 'anna', 'pls dont tell', 'conv_2'),
  ]
  expect(wordsOf(...mixed).isEmpty).toBe(true)
})

describe('addNumbersOf', () => {
  const [own, ofBen] = ['+43 660 1234567', '+43 720 7654321']
  const words = new Fingerprints()
  for (const text of [`You can call me on ${own}.`, `Ben moved, his number is ${ofBen} now.`]) addNumbersOf(words, text)
  const found = (text: string) => {
    const { certain, uncertain } = Fingerprints.fromBytes(words.toBytes()).everyNameIn(text)
    return { isCertain: certain.length > 0, isUncertain: uncertain.length > 0 }
  }
  it('removes the number of the writer in any form', () => {
    expect(found(`Iris: ${own}`)).toEqual({ isCertain: true, isUncertain: false })
    expect(found('0660/1234567')).toEqual({ isCertain: true, isUncertain: false })
  })
  it('counts the number of a person whom the writer mentioned, and does not remove it', () => {
    expect(found(`Ben: ${ofBen}`)).toEqual({ isCertain: false, isUncertain: true })
    expect(found('0720 7654321')).toEqual({ isCertain: false, isUncertain: true })
    expect(words.namesIn(`Ben: ${ofBen}`)).toEqual([])
    expect(words.uncertainIn(`Ben: ${ofBen}`)).not.toEqual([])
  })
  it('removes a number that the writer called their own in another message', () => {
    addNumbersOf(words, `Ben answers for me on ${own}.`)
    expect(found(`Iris: ${own}`)).toEqual({ isCertain: true, isUncertain: false })
  })
})

describe('phoneNumbersIn', () => {
  it('returns the digits of each number in international and national form and without any prefix', () => {
    expect(phoneNumbersIn('Call me on +43 660 1234567, please.').sort()).toEqual(
      [
        '436601234567',
        '00436601234567',
        '011436601234567',
        '0011436601234567',
        '010436601234567',
        '810436601234567',
        '06601234567',
        '6601234567',
      ].sort(),
    )
  })
  it.each(['On 2026-01-02 I ordered 12 items.', 'Room 77', 'Nothing.', 'Order 4711-0815 of 2026'])(
    'returns nothing for %j',
    (text) => {
      expect(phoneNumbersIn(text)).toEqual([])
    },
  )
})
