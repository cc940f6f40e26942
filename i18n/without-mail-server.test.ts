import { createTranslator, IntlErrorCode } from 'next-intl'
import { describe, expect, test } from 'vitest'
import en from '../messages/en.ts'
import zh from '../messages/zh.ts'
import { compiled } from './compiled.ts'
import { replacements, withoutMailServer } from './without-mail-server.ts'

const flat = (tree: object, above = ''): [string, string][] =>
  Object.entries(tree).flatMap(([key, value]) =>
    typeof value === 'object' && value !== null ? flat(value, `${above}${key}.`) : [[`${above}${key}`, String(value)]],
  )
const placeholders = (text: string) => [...text.matchAll(/\{(\w+)|<(\w+)>/g)].map(([, name, tag]) => name ?? tag)

const languages = [
  [
    'en',
    en,
    /\b(we|our) (latest )?e?mails?\b|\b(we|have) sen[dt] (a|the)\b|on its way|emails? sent|spam|confirm \w+ by email/i,
  ],
  ['zh', zh, /我们[^。]*(发送链接|邮件)|通过邮件(通知|确认|发送)|已向[^。]*发送|已发送[^。]*邮件|即将送达|垃圾邮件/],
] as const
/** States that nothing is sent. */
const exception = 'deletion.done.letters'

describe.each(languages)('messages in %s without a mail server', (locale, messages, promise) => {
  const shown = withoutMailServer(locale, messages)
  const original = new Map(flat(messages))

  test('replace only existing texts, with their placeholders', () => {
    for (const [key, text] of flat(replacements[locale])) {
      expect(original.has(key), key).toBe(true)
      const known = placeholders(original.get(key) ?? '')
      expect(
        placeholders(text).filter((name) => !known.includes(name)),
        key,
      ).toEqual([])
    }
    expect(flat(shown).map(([key]) => key)).toEqual([...original.keys()])
  })

  test('are valid ICU messages', () => {
    const invalid: string[] = []
    const translate = createTranslator({
      locale,
      messages: shown,
      onError: ({ code, message }) => code === IntlErrorCode.INVALID_MESSAGE && invalid.push(message),
      getMessageFallback: () => '',
    }) as unknown as (key: string) => string
    for (const [key] of flat(replacements[locale])) translate(key)
    expect(invalid).toEqual([])
    expect(() => compiled(shown)).not.toThrow()
  })

  test('promise no email', () => {
    const promising = flat(shown).filter(([key, text]) => key !== exception && promise.test(text))
    expect(promising).toEqual([])
  })
})

test('both languages replace the same texts', () =>
  expect(flat(replacements.zh).map(([key]) => key)).toEqual(flat(replacements.en).map(([key]) => key)))
