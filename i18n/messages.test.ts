import { describe, expect, test } from 'vitest'
import { problems } from '#lib/kernel/problem.ts'
import en from '../messages/en.ts'
import zh from '../messages/zh.ts'
import { chosenLocale, chosenZone } from './choice.ts'

const flat = (tree: object, above = ''): [string, string][] =>
  Object.entries(tree).flatMap(([key, value]) =>
    typeof value === 'object' && value !== null ? flat(value, `${above}${key}.`) : [[`${above}${key}`, String(value)]],
  )
/** What a text is filled with: `{name}` and `<name>`. */
const blanks = (text: string): string[] =>
  [...new Set([...text.matchAll(/\{(\w+)[,}]|<(\w+)>/g)].map(([, value, tag]) => value ?? `<${tag}>`))].sort()

const english = new Map(flat(en))
const chinese = new Map(flat(zh))

describe('the two languages', () => {
  test('say the same things', () => expect([...chinese.keys()].sort()).toEqual([...english.keys()].sort()))

  test.each([...english].map(([key, text]) => ({ key, text })))('$key is filled with the same', ({ key, text }) =>
    expect(blanks(chinese.get(key) ?? '')).toEqual(blanks(text)),
  )

  test('leave nothing empty, and nothing untranslated but names', () => {
    for (const text of [...english.values(), ...chinese.values()]) expect(text.trim()).not.toBe('')
    const same = [...english].filter(([key, text]) => chinese.get(key) === text).map(([key]) => key)
    expect(same).toEqual(['meta.title'])
  })

  test('have words for every refusal, and for no other', () => {
    const own = ['unreachable', 'unknown'] // no answers of the API
    expect(Object.keys(en.problems).sort()).toEqual([...Object.keys(problems), ...own].sort())
  })
})

test.each([
  ['zh', 'zh'],
  ['en', 'en'],
  ['de', undefined],
  ['', undefined],
  ['__proto__', undefined],
  [undefined, undefined],
])('the cookie %j names the language %s', (text, locale) => expect(chosenLocale(text)).toBe(locale))

test.each([
  ['Europe/Berlin', 'Europe/Berlin'],
  ['Asia/Shanghai', 'Asia/Shanghai'],
  ['UTC', 'UTC'],
  ['Nowhere/Land', undefined],
  ['<script>', undefined],
  ['x'.repeat(200), undefined],
  [undefined, undefined],
])('the cookie %j names the time zone %s', (text, zone) => expect(chosenZone(text)).toBe(zone))
