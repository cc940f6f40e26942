import { describe, expect, it } from 'vitest'
import { linesWithBeginnings } from './line-beginnings.ts'

/** What remains of each line without its beginning. */
const restOf = (lines: readonly string[]): string[] => {
  const text = lines.join('\n')
  const { count, untils, ends } = linesWithBeginnings(text)
  return Array.from({ length: count }, (_, line) => text.slice(untils[line], ends[line]))
}

describe('lines', () => {
  it.each<[string, string[]]>([
    ['a service', ['api-1     | ', 'api-22    | ', 'api-3     | ']],
    [
      'a date, a time and a speaker',
      ['3/1/26, 10:00 PM - Anna Lee: ', '3/1/26, 9:01 PM - Anna Lee: ', '3/1/26, 9:02 PM - Anna Lee: '],
    ],
    [
      'an annotation',
      ['^4832fe2 (Anna 2026-03-01 1) ', '^4832fe2 (Anna 2026-03-01 2) ', '^91b32ab (Anna 2026-03-02 10) '],
    ],
    ['a file and a number', ['notes/a.txt:1:', 'notes/a.txt:2:', 'notes/a.txt:13:']],
    ['a number and an arrow', ['    8→', '    9→', '   10→']],
  ])('lose the beginning that they share: %s', (_name, beginnings) => {
    const words = ['I have', 'cobalt fever', 'since May']
    const lines = beginnings.map((beginning, n) => `${beginning}${words[n]}`)
    expect(restOf(lines)).toEqual(words)
  })
  it.each([
    [['We went home, and slept', 'We went home, and ate', 'We went home, and read']],
    [['Total: 5', 'Total: 7']],
    [['The sum is 5', 'The sum is 7', 'The sum is 9']],
    [['| 2026 | 5 |', '| 2025 | 4 |', '| 2024 | 3 |']],
    [['See https://a.example/1', 'See https://b.example/2', 'See https://c.example/3']],
  ])('keep words that people wrote: %j', (lines) => {
    expect(restOf(lines)).toEqual(lines)
  })
  it('lines that contain only a speaker and a time are removed', () => {
    expect(
      restOf(['Anna Lee  0:01', 'I have', 'Anna Lee  0:05', 'cobalt fever', 'Anna Lee  0:09', 'since May']),
    ).toEqual(['', 'I have', '', 'cobalt fever', '', 'since May'])
  })
  it('lines with times that follow each other keep their words', () => {
    const lines = ['Meeting at 10:00', 'Meeting at 11:00', 'Meeting at 12:00']
    expect(restOf(lines)).toEqual(lines)
  })
})
