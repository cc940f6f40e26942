import type { Locale } from '#lib/domains/accounts/rules.ts'
import en from '../messages/en/without-mail-server.json' with { type: 'json' }
import zh from '../messages/zh/without-mail-server.json' with { type: 'json' }

/** Texts for an installation without a mail server, by key. They replace texts that promise an email, which nobody would receive. */
export const replacements: Record<Locale, object> = { en, zh }

function replaced<M extends object>(messages: M, replacing: object): M {
  const own: Readonly<Record<string, unknown>> = Object.fromEntries(Object.entries(messages))
  const changed = Object.entries(replacing).map(([key, value]) => [
    key,
    typeof value === 'string' ? value : replaced(Object(own[key]), value),
  ])
  return { ...messages, ...Object.fromEntries(changed) }
}

export const withoutMailServer = <M extends object>(locale: Locale, messages: M): M =>
  replaced(messages, replacements[locale])
