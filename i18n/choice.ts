import { type Locale, locales } from '#lib/domains/accounts/rules.ts'

/** The locale that a cookie names; undefined for one that we have not. */
export const chosenLocale = (text: string | undefined): Locale | undefined => locales.find((locale) => locale === text)

/** The IANA time zone that a cookie names; undefined for one that this runtime does not know. */
export function chosenZone(text: string | undefined): string | undefined {
  if (text === undefined || !/^[A-Za-z][\w+/-]{1,63}$/.test(text)) return undefined
  try {
    return new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone
  } catch {
    return undefined
  }
}

/** Whether the page is shown in a frame of another website, without the frame of the console. */
export const isEmbeddedPath = (path: string | null): boolean => path?.startsWith('/embed/') ?? false
/** The language that the URL of an embedded page names; cookies are not available there. */
export const embeddedLocale = (path: string | null) =>
  path !== null && isEmbeddedPath(path)
    ? chosenLocale(new URL(path, 'http://localhost').searchParams.get('lang') ?? undefined)
    : undefined
