import { expect, it } from 'vitest'
import { maxIndexedWords, searchVector } from './words.ts'

it('vector keeps the maximum number of distinct words, highest weight first, with all their positions', () => {
  const many = Array.from({ length: maxIndexedWords + 500 }, (_, n) => `word${n}`).join(' ')
  const vector = searchVector([
    { weight: 'D', text: `${many} basilisk` },
    { weight: 'A', text: 'a basilisk first' },
  ])
  const words = vector.trim().split(' ')
  expect(words).toHaveLength(maxIndexedWords)
  expect(words.slice(0, 3).map((word) => word.split(':')[0])).toEqual(['a', 'basilisk', 'first'])
  expect(words[1]).toBe(`basilisk:3A,${4 + 1 + maxIndexedWords + 500 + 1}`)
})
