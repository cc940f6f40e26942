export const roles = ['person', 'manager', 'auditor', 'admin'] as const
export type Role = (typeof roles)[number]
export const locales = ['en', 'zh'] as const
export type Locale = (typeof locales)[number]
/** Returns the locale of this name, or English if unsupported. */
export const localeNamed = (text: string): Locale => locales.find((locale) => locale === text) ?? 'en'

/** Lengths in UTF-16 units, as in JSON Schema and HTML. */
export const leastPasswordLength = 12
export const longestPassword = 200

/** Lifetime of a session from sign-in, regardless of its use; milliseconds. */
export const sessionLife = 8 * 3_600_000
/** Lifetime of a one-time password in milliseconds. */
export const oneTimePasswordLife = 24 * 3_600_000
/** Precision of `last_seen_at` in milliseconds. */
export const seenEvery = 60_000
/** Milliseconds for which ended sessions are retained, so that audit entries can be matched with them. */
export const endedSessionRetention = 24 * 3_600_000

/** Milliseconds for which the networks of an account's sign-ins are stored. */
export const signInPlaceRemembered = 30 * 24 * 3_600_000

/** Lifetimes of links to choose a password, in milliseconds. */
export const passwordLinkLifetimes = { invitation: 7 * 24 * 3_600_000, reset: 3_600_000 } as const
export type PasswordLinkPurpose = keyof typeof passwordLinkLifetimes
/** Maximum number of emails with a link to one account within an hour, per purpose; admins can send as many resets again. */
export const passwordLinkEmailsPerHour = 3
/** Milliseconds for which ended links are retained; they count against the hourly limit meanwhile. */
export const endedLinkRetention = 3_600_000
/** Maximum number of members that managers can invite into one organization within a day. */
export const invitationsPerDay = 50
/** Milliseconds after the last email until an unaccepted account is deleted. */
export const invitedFor = 30 * 24 * 3_600_000
/** Maximum number of attempts to use links from one network within a minute. */
export const passwordLinkTriesPerMinute = 20

/** States of an account for admins. Several can apply; `active` excludes the three states before it. */
export const accountStates = ['invited', 'deactivated', 'erasing', 'active', 'restricted'] as const
export type AccountState = (typeof accountStates)[number]
/**
 * States of an account for managers. They omit restriction and erasure, because managers must not see who exercises
 * these rights.
 */
export const memberStates = ['invited', 'deactivated', 'active'] as const
/** Roles that a manager can assign. */
export const organisationMemberRoles = ['person', 'manager'] as const

/** Normalises an address for comparison, storage and search. */
export const normaliseEmail = (email: string): string => email.trim().normalize('NFC').toLowerCase()

/** Gives the same bytes for the same password typed on different keyboards (NIST SP 800-63B §5.1.1.2). */
export const normalisePassword = (password: string): string => password.normalize('NFKC')

export type PasswordFault = 'is_email' | 'is_current' | 'repetitive'

/** The API's validation messages by fault. */
export const passwordFaultText: Record<PasswordFault, string> = {
  is_email: 'is your email address',
  is_current: 'is your current password',
  repetitive: 'repeats the same few characters',
}

/** Returns why a password of valid length is rejected; undefined when it is accepted. */
export function passwordFault(next: string, current: string, email: string): PasswordFault | undefined {
  const chosen = normalisePassword(next)
  const folded = chosen.trim().toLowerCase()
  if (folded === normaliseEmail(email)) return 'is_email'
  if (chosen === normalisePassword(current)) return 'is_current'
  return new Set(folded).size < 5 ? 'repetitive' : undefined
}

/** Maximum number of attempts per minute to enter the current password within a session. */
export const passwordChecksPerMinute = 5

// The order matters: Edge and Opera also contain "Chrome", and Chrome contains "Safari".
const browsers: [RegExp, string][] = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\b(?:OPR|Opera)\//, 'Opera'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Chrome|CriOS|HeadlessChrome)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
  [/\bcurl\//, 'curl'],
]
const systems: [RegExp, string][] = [
  [/\b(?:iPhone|iPad|iPod)\b/, 'iOS'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b|\bMacintosh\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
]

/** Returns a name such as "Firefox on Linux": enough to recognise one's own session, but no fingerprint. Empty when unknown. */
export function browserName(userAgent: string): string {
  const text = userAgent.slice(0, 512)
  const named = (list: [RegExp, string][]) => list.find(([pattern]) => pattern.test(text))?.[1]
  return [named(browsers), named(systems)].filter((part) => part !== undefined).join(' on ')
}

/** Returns the supported language that an Accept-Language header prefers (RFC 9110 §12.5.4); English if it names none. */
export function localeOf(acceptLanguage: string): Locale {
  const wanted = acceptLanguage
    .slice(0, 1_000)
    .split(',')
    .map((part) => {
      const [tag = '', ...parameters] = part.trim().toLowerCase().split(';')
      const weight = parameters.map((one) => /^\s*q=([\d.]+)$/.exec(one)?.[1]).find((one) => one !== undefined)
      return { language: tag.split('-')[0], weight: weight === undefined ? 1 : Number(weight) }
    })
    .filter(({ weight }) => weight > 0)
    .sort((one, other) => other.weight - one.weight)
  for (const { language } of wanted) if (language === 'en' || language === 'zh') return language
  return 'en'
}

/** Returns the path to open after sign-in. Anything that a browser could resolve to another site becomes the overview. */
export function returnPath(text: string | undefined): string {
  const home = '/overview'
  const here = 'https://here.invalid'
  if (text === undefined || !text.startsWith('/') || !URL.canParse(text, here)) return home
  const url = new URL(text, here)
  const path = url.pathname + url.search + url.hash
  // A path that starts with two slashes would name another host.
  return url.origin === here && !path.startsWith('//') ? path : home
}
