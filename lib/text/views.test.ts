import { expect, it } from 'vitest'
import { processorTime } from '#lib/testing/processor-time.ts'
import { worstTexts } from '#lib/testing/worst-texts.ts'
import { maxDecoded, viewsOf } from './views.ts'

it('maxDecoded returns any number of spans', () => {
  const count = 300_000
  const spans = Array.from({ length: count }, (_, at) => ({ start: at * 2, end: at * 2 + 1 }))
  expect(maxDecoded('a '.repeat(count), spans)).toHaveLength(count)
})

it.each([
  [String.raw`{\u0022name\u0022: \u0022Anna Lee\u0022}`, '{"name": "Anna Lee"}'],
  [String.raw`x {\u0022by\u0022:\u0022Anna Lee\u0022,\u0022n\u0022:1}`, 'x {"by":"Anna Lee","n":1}'],
  [String.raw`{\r\n\"name\": \"Anna Lee\"\r\n}`, '{\r\n"name": "Anna Lee"\r\n}'],
  [String.raw`An{\u1}na{\r} {\rDefault\i1}Lee{\b0}`, 'Anna Lee'],
])('escapes in braces are no formatting of subtitles: %s', (text, decoded) => {
  expect(viewsOf(text).layers.map((layer) => layer.text)).toContain(decoded)
})

it.each(['begin 644 a\na\n', 'begin 644 a\n{}\r\n`\nend\n', 'begin 644 a\n\u00e9\nI have a fever\n'])(
  'viewsOf returns the views of lines that are no uuencode: %j',
  (text) => {
    expect(viewsOf(text).isIncomplete).toBe(false)
  },
)

// Four times the text takes four times the work if it is linear, and sixteen times if it is quadratic.
it.each(worstTexts)(
  'viewsOf takes linear time for $name',
  ({ make }) => {
    const work = (text: string) => processorTime(() => viewsOf(text))
    const growth = () => work(make(64 * 1024)) / Math.max(work(make(16 * 1024)), 2_000)
    // Garbage collection only adds time, so the minimum of several attempts counts.
    const seen = [growth()]
    while (Math.min(...seen) > 8 && seen.length < 5) seen.push(growth())
    expect(Math.min(...seen)).toBeLessThan(9)
  },
  240_000,
)
