import { cookies, headers } from 'next/headers'
import { getRequestConfig } from 'next-intl/server'
import { type Locale, localeOf } from '#lib/domains/accounts/rules.ts'
import { memoize } from '#lib/kernel/memoize.ts'
import { chosenLocale, chosenZone, embeddedLocale } from './choice.ts'
import { compiled } from './compiled.ts'

const messages = {
  en: memoize(async () => compiled((await import('../messages/en.ts')).default)),
  zh: memoize(async () => compiled((await import('../messages/zh.ts')).default)),
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
    messages: await messages[locale](),
    timeZone: chosenZone(jar.get('tz')?.value) ?? 'UTC',
    now: new Date(),
  }
})
