import { expect, it } from 'vitest'
import { viewsOf } from './views.ts'

const words = 'my fever began in April and the clinic kept me for nine days'
const alternating = (write: (index: number, text: string) => string) =>
  words.split(' ').flatMap((word, at) => [write(0, `${word} `), write(1, `x${at} `)])

it.each([
  [
    'before it',
    (index: number, content: string) => `data: ${JSON.stringify({ choices: [{ index, delta: { content } }] })}`,
  ],
  ['after it', (index: number, text: string) => `data: ${JSON.stringify({ choices: [{ text, index }] })}`],
  [
    'in calls',
    (index: number, text: string) => `Chunk(choices=[Choice(delta=Delta(content='${text}'), index=${index})])`,
  ],
])('the deltas of several answers are read for each index, with the index %s', (_name, write) => {
  const found = viewsOf(alternating(write).join('\n\n')).layers.map(({ text }) => text)
  expect(found.some((text) => text.includes(words))).toBe(true)
})
it('a list of records with an index is read once', () => {
  const records = words.split(' ').map((text) => ({ index: 0, text: `${text} ` }))
  const [layer] = viewsOf(JSON.stringify(records)).layers
  expect(layer?.text.split(words)).toHaveLength(2)
})
