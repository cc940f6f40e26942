import { NextIntlClientProvider } from 'next-intl'
import { type ComponentProps, createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { expect, it } from 'vitest'
import en from '#messages/en.ts'
import zh from '#messages/zh.ts'
import { useBrowserName } from './browser-name.ts'

const Named = ({ stored }: { stored: string }) => useBrowserName()(stored)
function nameIn(locale: 'en' | 'zh', stored: string): string {
  const props: ComponentProps<typeof NextIntlClientProvider> = {
    locale,
    messages: { en, zh }[locale],
    timeZone: 'UTC',
    children: createElement(Named, { stored }),
  }
  return renderToStaticMarkup(createElement(NextIntlClientProvider, props))
}

it.each([
  ['en', 'Firefox on Linux', 'Firefox on Linux'],
  ['zh', 'Firefox on Linux', 'Linux 上的 Firefox'],
  ['zh', 'curl', 'curl'],
  ['zh', '', ''],
] as const)('in %s, the stored browser “%s” is named “%s”', (locale, stored, name) =>
  expect(nameIn(locale, stored)).toBe(name),
)
