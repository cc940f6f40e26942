import { expect, it } from 'vitest'
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
