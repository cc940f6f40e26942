import type { Locale } from '#lib/domains/accounts/rules.ts'
import en from '../messages/en/without-mail-server.json' with { type: 'json' }
import zh from '../messages/zh/without-mail-server.json' with { type: 'json' }

/** Texts for an installation without a mail server, by key. They replace texts that promise an email, which nobody would receive. */
export const replacements: Record<Locale, object> = { en, zh }

function replaced<M extends object>(messages: M, replacing: object): M {
  const all: Record<string, unknown> = { ...messages }
  for (const [key, value] of Object.entries(replacing))
    all[key] = typeof value === 'string' ? value : replaced(Object(all[key]), value)
  return all as M
}

export const withoutMailServer = <M extends object>(locale: Locale, messages: M): M =>
  replaced(messages, replacements[locale])
