import { cookies, headers } from 'next/headers'
import { getRequestConfig } from 'next-intl/server'
import { type Locale, localeOf } from '#lib/domains/accounts/rules.ts'
import { chosenLocale, chosenZone } from './choice.ts'

const messages = {
  en: () => import('../messages/en.ts'),
  zh: () => import('../messages/zh.ts'),
}

/** The language and the time zone that the reader chose; else what the browser asks for, and UTC until it has told its zone. */
export default getRequestConfig(async () => {
  const jar = await cookies()
  const locale: Locale =
    chosenLocale(jar.get('locale')?.value) ?? localeOf((await headers()).get('accept-language') ?? '')
  return {
    locale,
    messages: (await messages[locale]()).default,
    timeZone: chosenZone(jar.get('tz')?.value) ?? 'UTC',
    now: new Date(),
  }
})
