import { expect, test } from 'vitest'
import { besideChinese, punctuationOf, spacedDigits, tidyChinese } from './punctuation.ts'

test('punctuationOf returns the marks of each language', () => {
  const shown = (locale: string) => {
    const { list, colon, open, close, space } = punctuationOf(locale)
    return `a${colon}${list(['b', 'c'])}${open}d${close}${space}e`
  }
  expect([shown('en'), shown('zh')]).toEqual(['a: b, c (d) e', 'a：b、c（d）e'])
})

test('spacedDigits separates digits from Chinese characters only', () => {
  expect(['3天后', '17字节', 'in 3 days', '30 分钟'].map(spacedDigits)).toEqual([
    '3 天后',
    '17 字节',
    'in 3 days',
    '30 分钟',
  ])
})

test('a Chinese sentence has one space between a Latin name or a number and its characters, and none at punctuation', () => {
  const sentence = (value: string) => tidyChinese(`Ada 添加了${besideChinese(value)}，共${besideChinese('2')}次`)
  expect(['Ben Example 的请求', '3 项成员', '文档助手', 'ben@example.org'].map(sentence)).toEqual([
    'Ada 添加了 Ben Example 的请求，共 2 次',
    'Ada 添加了 3 项成员，共 2 次',
    'Ada 添加了文档助手，共 2 次',
    'Ada 添加了 ben@example.org，共 2 次',
  ])
})
