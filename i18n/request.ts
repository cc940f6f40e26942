import { cookies, headers } from 'next/headers'
import { getRequestConfig } from 'next-intl/server'
import { hasMailServer, readEnv } from '#lib/config/env.ts'
import { type Locale, localeOf } from '#lib/domains/accounts/rules.ts'
import { memoize } from '#lib/kernel/concurrency.ts'
import { chosenLocale, chosenZone, embeddedLocale } from './choice.ts'
import { compiled } from './compiled.ts'
import { withoutMailServer } from './without-mail-server.ts'

const ofThisInstallation = <M extends object>(locale: Locale, all: M): M =>
  hasMailServer(readEnv()) ? all : withoutMailServer(locale, all)
const messages = {
  en: memoize(async () => compiled(ofThisInstallation('en', (await import('../messages/en.ts')).default))),
  zh: memoize(async () => compiled(ofThisInstallation('zh', (await import('../messages/zh.ts')).default))),
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
