import { expect, test } from 'vitest'
import { punctuationOf, spacedDigits } from './punctuation.ts'

test('punctuationOf returns the marks of each language', () => {
  const shown = (locale: string) => {
    const { list, colon, open, close } = punctuationOf(locale)
    return `a${colon}${list(['b', 'c'])}${open}d${close}`
  }
  expect([shown('en'), shown('zh')]).toEqual(['a: b, c (d)', 'a：b、c（d）'])
})

test('spacedDigits separates digits from Chinese characters only', () => {
  expect(['3天后', '17字节', 'in 3 days', '30 分钟'].map(spacedDigits)).toEqual([
    '3 天后',
    '17 字节',
    'in 3 days',
    '30 分钟',
  ])
})
