import { describe, expect, it } from 'vitest'
import type { Source } from '../provenance/sources.ts'
import { Fingerprints } from './fingerprints.ts'
import { ConsecutiveMessages, phoneNumbersIn } from './run-words.ts'

const message = (id: number, author: string, text: string, conversation = 'conv_1'): Source => ({
  kind: 'message',
  id: `msg_${id}`,
  project: 'proj_1',
  group: 'group_1',
  conversation,
  threads: [],
  createdAt: new Date(id * 1_000),
  author: { kind: 'participant', id: author, name: null },
  texts: [text],
  objects: [],
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
it('messages of other authors and conversations are not joined', () => {
  const mixed = [
    message(1, 'anna', 'i have hiv'),
    message(2, 'ben', 'since last may'),
    message(3, 'anna', 'pls dont tell', 'conv_2'),
  ]
  expect(wordsOf(...mixed).isEmpty).toBe(true)
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
