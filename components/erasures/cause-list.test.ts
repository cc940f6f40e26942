import { NextIntlClientProvider } from 'next-intl'
import { type ComponentProps, createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { expect, it } from 'vitest'
import en from '#messages/en.ts'
import zh from '#messages/zh.ts'
import { CauseList } from './cause-list.tsx'

const words = { en, zh }
it.each(['en', 'zh'] as const)('CauseList says in %s why a store rejects requests', (locale) => {
  const causes = [{ code: 'store_refuses' as const, store: 'graph', fault: 'credentials' }]
  const { causes: _, storeProgress, dataNames } = words[locale]
  const props: ComponentProps<typeof NextIntlClientProvider> = {
    locale,
    messages: { causes: _, storeProgress, dataNames },
    timeZone: 'UTC',
    children: createElement(CauseList, { causes }),
  }
  const html = renderToStaticMarkup(createElement(NextIntlClientProvider, props))
  expect(html).toContain(storeProgress.refusals.credentials)
})
