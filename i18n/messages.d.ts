import type { Locale } from '#lib/domains/accounts/rules.ts'
import type messages from '../messages/en.ts'

declare module 'next-intl' {
  interface AppConfig {
    Locale: Locale
    Messages: typeof messages
  }
}
