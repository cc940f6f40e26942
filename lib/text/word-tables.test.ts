import { describe, expect, it } from 'vitest'
import { editText, readerText, searchViews } from './views.ts'
import { wordColumnsIn } from './word-tables.ts'

const erased = 'my fever began in April and the clinic kept me for nine days'
const other = 'another person wrote these words about an engine of a boat'
const words = `${erased} ${other}`.split(' ')
const forms: Record<string, string> = {
  'a transcript in CSV': `start,end,word\n${words.map((word, n) => `${n / 2},${n / 2 + 0.4},"${word}"`).join('\n')}`,
  'a table of a parser': words.map((word, n) => `${n + 1}\t${word}\tNOUN\t_`).join('\n'),
  'a table of Markdown': `| n | word |\n|---|---|\n${words.map((word, n) => `| ${n + 1} | ${word} |`).join('\n')}`,
  'a transcript with times': words.map((word, n) => `call-7 1 ${(n * 0.31).toFixed(2)} 0.30 ${word} 0.98`).join('\n'),
  'letters with points': words.map((word) => [...word].join('.')).join(' '),
  'letters with spaces': words.map((word) => [...word].join(' ')).join('   '),
  'letters with hyphens in lines': words.map((word) => [...word].join('-')).join('\n'),
}
const inOrder = (text: string) => text.replace(/[^\p{L}\s]/gu, ' ').replace(/\s+/g, ' ')
const cutFrom = (text: string) =>
  editText(text, (one) =>
    searchViews(one, (view) => {
      const pattern = new RegExp(erased.replaceAll(' ', '\\s+'))
      const found = pattern.exec(view)
      return found ? [{ start: found.index, end: found.index + found[0].length }] : []
    }),
  )

describe('words in columns and words that are spelled', () => {
  it.each(Object.entries(forms))('are read together and cut, and other words remain: %s', (_name, text) => {
    expect(inOrder(readerText(text) + readColumns(text))).toContain(erased)
    const rest = cutFrom(text) ?? ''
    expect(inOrder(readerText(rest) + readColumns(rest))).toContain(other)
    expect(inOrder(readerText(rest) + readColumns(rest))).not.toContain('my fever began')
  })
  it.each([
    'The U.S.A. and e.g. the U.K. are named here, with no other words that are spelled.',
    'a - b - c - d is a formula, and x . y . z is another.',
    '  name?: string\n  value?: number\n  other?: Date\n  last?: string\n  first?: string\n  size?: number\n',
    'one two three\nfour five six seven\neight nine\nten eleven twelve\n',
  ])('leave other texts as they are: %s', (text) => {
    expect(wordColumnsIn(text)).toEqual([])
    expect(inOrder(readerText(text)).trim().split(' ').length).toBeGreaterThan(4)
  })
})
const readColumns = (text: string): string =>
  wordColumnsIn(text)
    .map((column) => {
      const cells: string[] = []
      for (let at = 0; at < column.length; at += 2) cells.push(text.slice(column[at], column[at + 1]))
      return ` ${cells.join(' ')}`
    })
    .join('\n')
