import { createTranslator, IntlErrorCode } from 'next-intl'
import { describe, expect, test } from 'vitest'
import { problems } from '#lib/kernel/problem.ts'
import en from '../messages/en.ts'
import zh from '../messages/zh.ts'
import { chosenLocale, chosenZone } from './choice.ts'

const flat = (tree: object, above = ''): [string, string][] =>
  Object.entries(tree).flatMap(([key, value]) =>
    typeof value === 'object' && value !== null ? flat(value, `${above}${key}.`) : [[`${above}${key}`, String(value)]],
  )
/** The placeholders of a text: arguments, `{name}` and `{name, plural, …}`, and tags `<name>`. A branch of a plural is itself a text. */
function blanks(text: string): string[] {
  const found = new Set([...text.matchAll(/<(\w+)>/g)].map(([tag]) => tag))
  let at = 0
  /** Reads text up to the brace that ends it. */
  const readText = (): void => {
    for (; at < text.length && text[at] !== '}'; at += 1) if (text[at] === '{') readArgument()
  }
  const readArgument = (): void => {
    const [, name = '', kind] = /^\{\s*(\w+)\s*(?:,\s*(\w+))?/.exec(text.slice(at)) ?? []
    found.add(name)
    at += 1
    if (kind !== 'plural' && kind !== 'select' && kind !== 'selectordinal') {
      at = text.indexOf('}', at)
      return
    }
    for (; at < text.length && text[at] !== '}'; at += 1)
      if (text[at] === '{') {
        at += 1
        readText()
      }
  }
  for (; at < text.length; at += 1) if (text[at] === '{') readArgument()
  return [...found].sort()
}

const english = new Map(flat(en))
const chinese = new Map(flat(zh))

describe('the two languages', () => {
  test('have the same message keys', () => expect([...chinese.keys()].sort()).toEqual([...english.keys()].sort()))

  test.each(Object.keys(en))('use the same placeholders in "%s"', (namespace) => {
    const keys = [...english.keys()].filter((key) => key.startsWith(`${namespace}.`))
    expect(keys.map((key) => [key, blanks(chinese.get(key) ?? '')])).toEqual(
      keys.map((key) => [key, blanks(english.get(key) ?? '')]),
    )
  })

  test.each([
    ['en', en],
    ['zh', zh],
  ] as const)('messages in %s follow the ICU message syntax', (locale, messages) => {
    const invalid: string[] = []
    for (const [key] of flat(messages)) {
      const translate = createTranslator({
        locale,
        messages,
        onError: ({ code }) => code === IntlErrorCode.INVALID_MESSAGE && invalid.push(key),
        getMessageFallback: () => '',
      }) as unknown as (key: string) => string
      translate(key)
    }
    expect(invalid).toEqual([])
  })

  test('have no empty message, and leave only names untranslated', () => {
    const empty = [...english, ...chinese].filter(([, text]) => text.trim() === '').map(([key]) => key)
    expect(empty).toEqual([])
    const same = [...english].filter(
      ([key, text]) => chinese.get(key) === text && /[a-z]{2}/i.test(text.replace(/\{[^}]*\}|<[^>]*>/g, '')),
    )
    const names = ['invitation.locales.en', 'meta.title', 'queue.channels.api']
    expect(same.map(([key]) => key).sort()).toEqual(names)
  })

  test.each([
    ['{count, plural, one {request} other {# of {total} requests}} <b>now</b>', ['<b>', 'count', 'total']],
    ['{name} and {at, date, short}', ['at', 'name']],
    ['no blanks', []],
  ])('the placeholders of %j are %j', (text, expected) => expect(blanks(text)).toEqual(expected))

  test('have a message for every error code, and for no unknown code', () => {
    const own = ['unreachable', 'unknown'] // not returned by the API
    expect(Object.keys(en.problems).sort()).toEqual([...Object.keys(problems), ...own].sort())
  })
})

// The types of next-intl require values only if every message that a key can name has some.
test('messages that report a finished action on a request need no values', () => {
  const keys = [...english.keys()].filter((key) => key.startsWith('adminRequest.finished.'))
  expect(keys.length).toBeGreaterThan(5)
  for (const key of keys) expect([key, blanks(english.get(key) ?? '')]).toEqual([key, []])
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
