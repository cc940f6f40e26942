import { NextIntlClientProvider } from 'next-intl'
import { type ComponentProps, createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { expect, it } from 'vitest'
import en from '#messages/en.ts'
import zh from '#messages/zh.ts'
import { Time } from './time.tsx'

const words = { en, zh }
function markupOf(at: string, show: 'relative' | 'both', locale: keyof typeof words = 'en'): string {
  const props: ComponentProps<typeof NextIntlClientProvider> = {
    locale,
    messages: words[locale],
    timeZone: 'UTC',
    now: new Date('2026-01-31T12:00:00Z'),
    children: createElement(Time, { at, show }),
  }
  return renderToStaticMarkup(createElement(NextIntlClientProvider, props))
}
const textOf = (at: string): string => /print:hidden">([^<]*)</.exec(markupOf(at, 'relative'))?.[1] ?? ''

it.each([
  ['2026-01-31T12:00:03.000Z', 'now'],
  ['2026-01-31T12:00:59.999Z', 'now'],
  ['2026-01-31T12:01:00.000Z', 'in 1 minute'],
  ['2026-01-31T11:59:57.000Z', '3 seconds ago'],
  ['2026-02-03T12:00:00.000Z', 'in 3 days'],
])('a time at %s is shown as “%s” on a page that read its clock at 12:00', (at, text) => expect(textOf(at)).toBe(text))

it.each([
  ['en', 'Feb 3, 2026, 12:00 (in 3 days)'],
  ['zh', '2026年2月3日 12:00（3 天后）'],
] as const)('a deadline in %s shows the distance in brackets, which never break over two lines', (locale, text) => {
  const markup = markupOf('2026-02-03T12:00:00.000Z', 'both', locale).replace(/<span[^>]*print:inline.*?<\/span>/, '')
  expect(markup.replace(/<[^>]*>/g, '')).toBe(text)
  expect(markup).toMatch(/<span class="whitespace-nowrap">[（(](in )?3 /)
})
