import { describe, expect, it } from 'vitest'
import { literalsIn } from './literals.ts'
import { readerText, viewsOf } from './views.ts'

const literals = (text: string) => literalsIn(text, 0, text.length).map(({ start, end }) => text.slice(start, end))

describe('literalsIn', () => {
  it.each(['', 'A(', 'B[A(', 'Log(c=[B[A('])(
    'reads the complete parts of a literal that is cut off, after %s',
    (head) => {
      const words = 'my fever began in April and the clinic kept me for nine days'.split(' ')
      const tokens = words.map((word) => `TopLogprob(token=' ${word}', bytes=[32, 102], logprob=-0.01)`).join(', ')
      const text = `${head}Choice(content=[${tokens}, TopLogprob(token=' foo', by`
      expect(literals(text)).toHaveLength(words.length)
      expect(readerText(text)).toContain('my')
    },
  )
  it('reads the complete parts between many brackets that are not closed', () => {
    const text = "f(x=['a'], ".repeat(20_000)
    expect(literals(text)).toHaveLength(20_000)
  })
  it.each(['\\n', '\\r\\n', '\\t', '\\u000a'])(
    'are read with an escape of their own and %s between them',
    (between) => {
      const words = 'my fever began in April and the clinic kept me for nine days'.split(' ')
      const rows = words.map((word, n) => `(${n}, 'user', '${word}')`).join(', ')
      const text = `[${rows}, (13, 'user', 'a\\nb')]${between}[(1, 'user', 'x')]`
      const views = viewsOf(text).layers.map((layer) => layer.text.replace(/\s+/g, ' '))
      expect(views.some((view) => view.includes(words.join(' ')))).toBe(true)
    },
  )
  it('ignores brackets without a string', () => {
    expect(literals("f((1, [2]), x) and [['a'], 1]")).toEqual(["[['a'], 1]"])
  })
})
