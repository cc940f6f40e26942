import { describe, expect, test } from 'vitest'
import { findIdioms } from './check-language.ts'

const idiomsIn = (source: string): [number, string][] =>
  findIdioms(source).map(({ line, idiom }) => [line, idiom.toLowerCase()])

describe('findIdioms', () => {
  test('returns the line and the idiom of a comment, a docstring and a test name', () => {
    const source = [
      "const text = 'whoever reads this'",
      '/**',
      ' * The row is deleted by whoever',
      ' * wrote it.',
      ' */',
      '// what came of it',
      "test('whoever asks is refused', () => {})",
      "it.each([1])('%s: what is left of it', () => {})",
    ].join('\n')
    expect(idiomsIn(source)).toEqual([
      [3, 'whoever'],
      [6, 'what came of'],
      [7, 'whoever'],
      [8, 'what is left'],
    ])
  })

  test('finds an idiom that a line break of a docstring divides', () => {
    expect(idiomsIn('/**\n * This is what\n * became of it.\n */')).toHaveLength(1)
  })

  test('returns nothing for strings, code and plain comments', () => {
    expect(idiomsIn("const whoever = 'what came of it' // the author's name\n// The list goes on.")).toEqual([])
  })
})
