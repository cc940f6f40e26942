import format from 'icu-minify/format'
import { createTranslator } from 'next-intl'
import { expect, test } from 'vitest'
import en from '../messages/en.ts'
import zh from '../messages/zh.ts'
import { compiled } from './compiled.ts'

const flat = (tree: object, above = ''): [string, unknown][] =>
  Object.entries(tree).flatMap(([key, value]) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? flat(value, `${above}${key}.`)
      : [[`${above}${key}`, value]],
  )
const formatters = {
  getDateTimeFormat: (...args: ConstructorParameters<typeof Intl.DateTimeFormat>) => new Intl.DateTimeFormat(...args),
  getNumberFormat: (...args: ConstructorParameters<typeof Intl.NumberFormat>) => new Intl.NumberFormat(...args),
  getPluralRules: (...args: ConstructorParameters<typeof Intl.PluralRules>) => new Intl.PluralRules(...args),
}

test.each([
  ['en', en],
  ['zh', zh],
] as const)('compiled messages in %s have the same texts as next-intl', (locale, messages) => {
  const translate = createTranslator({ locale, messages, timeZone: 'UTC' }) as unknown as {
    markup(key: string, values: object): string
  }
  const parsed = new Map(flat(compiled(messages)))
  for (const [key, text] of flat(messages))
    for (const value of [0, 1, 2, 12_345.5, 'yes']) {
      const names = [...String(text).matchAll(/\{\s*(\w+)/g)].map(([, name = '']) => [name, value])
      const tags = [...String(text).matchAll(/<(\w+)>/g)].map(([, tag = '']) => [tag, (inner: unknown) => `[${inner}]`])
      const isNumber = /\{\s*\w+\s*,\s*(plural|number)/.test(String(text))
      if (isNumber && typeof value === 'string') continue
      const values = Object.fromEntries([...names, ...tags])
      const own = format(parsed.get(key) as Parameters<typeof format>[0], locale, values, {
        formatters,
        timeZone: 'UTC',
      })
      expect([own].flat().join(''), key).toBe(translate.markup(key, values))
    }
})

test('compiled messages contain only plain objects and arrays, which React sends to the browser', () => {
  const prototypes = new Set<unknown>()
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    prototypes.add(Object.getPrototypeOf(value))
    for (const part of Object.values(value)) visit(part)
  }
  visit(compiled(en))
  expect(prototypes).toEqual(new Set([Object.prototype, Array.prototype]))
})
