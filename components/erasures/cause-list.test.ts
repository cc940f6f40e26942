import { NextIntlClientProvider } from 'next-intl'
import { type ComponentProps, createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { expect, it } from 'vitest'
import en from '#messages/en.ts'
import zh from '#messages/zh.ts'
import { CauseList } from './cause-list.tsx'

const words = { en, zh }
function markupOf(locale: keyof typeof words, list: ComponentProps<typeof CauseList>): string {
  const { causes, storeProgress, dataNames } = words[locale]
  const props: ComponentProps<typeof NextIntlClientProvider> = {
    locale,
    messages: { causes, storeProgress, dataNames },
    timeZone: 'UTC',
    children: createElement(CauseList, list),
  }
  return renderToStaticMarkup(createElement(NextIntlClientProvider, props))
}
it.each(['en', 'zh'] as const)('CauseList says in %s why a store rejects requests', (locale) => {
  const causes = [{ code: 'store_refuses' as const, store: 'graph', fault: 'credentials' }]
  expect(markupOf(locale, { causes })).toContain(words[locale].storeProgress.refusals.credentials)
})

it('CauseList says of a completed deletion what delayed it', () => {
  const causes = [{ code: 'legal_hold' as const, store: null, fault: null }]
  expect(markupOf('en', { causes })).toContain('Cause: Legal hold')
  expect(markupOf('en', { causes, isOver: true })).toContain('Delayed by: Legal hold')
})
