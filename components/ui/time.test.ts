import { NextIntlClientProvider } from 'next-intl'
import { type ComponentProps, createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { expect, it } from 'vitest'
import en from '#messages/en.ts'
import { Time } from './time.tsx'

function textOf(at: string): string {
  const props: ComponentProps<typeof NextIntlClientProvider> = {
    locale: 'en',
    messages: en,
    timeZone: 'UTC',
    now: new Date('2026-01-31T12:00:00Z'),
    children: createElement(Time, { at, show: 'relative' }),
  }
  return /print:hidden">([^<]*)</.exec(renderToStaticMarkup(createElement(NextIntlClientProvider, props)))?.[1] ?? ''
}

it.each([
  ['2026-01-31T12:00:03.000Z', 'now'],
  ['2026-01-31T12:00:59.999Z', 'now'],
  ['2026-01-31T12:01:00.000Z', 'in 1 minute'],
  ['2026-01-31T11:59:57.000Z', '3 seconds ago'],
  ['2026-02-03T12:00:00.000Z', 'in 3 days'],
])('a time at %s is shown as “%s” on a page that read its clock at 12:00', (at, text) => expect(textOf(at)).toBe(text))
