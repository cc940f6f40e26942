import { cookies, headers } from 'next/headers'
import { getRequestConfig } from 'next-intl/server'
import { type Locale, localeOf } from '#lib/domains/accounts/rules.ts'
import { chosenLocale, chosenZone, embeddedLocale } from './choice.ts'

const messages = {
  en: () => import('../messages/en.ts'),
  zh: () => import('../messages/zh.ts'),
}

/** The language and time zone that the reader chose. Otherwise the language of the browser, and UTC until the browser has sent its time zone. */
export default getRequestConfig(async () => {
  const jar = await cookies()
  const sent = await headers()
  const locale: Locale =
    embeddedLocale(sent.get('x-path')) ??
    chosenLocale(jar.get('locale')?.value) ??
    localeOf(sent.get('accept-language') ?? '')
  return {
    locale,
    messages: (await messages[locale]()).default,
    timeZone: chosenZone(jar.get('tz')?.value) ?? 'UTC',
    now: new Date(),
  }
})
