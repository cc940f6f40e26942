export const roles = ['person', 'manager', 'auditor', 'admin'] as const
export type Role = (typeof roles)[number]
export const locales = ['en', 'zh'] as const
export type Locale = (typeof locales)[number]
/** The language by its name; English for one that we have not. */
export const localeNamed = (text: string): Locale => locales.find((locale) => locale === text) ?? 'en'

/** In UTF-16 units, as JSON Schema and HTML count them. */
export const leastPasswordLength = 12
export const longestPassword = 200

/** A session ends this long after sign-in, however busy it was; milliseconds. */
export const sessionLife = 8 * 3_600_000
/** How long a one-time password works, in milliseconds. */
export const oneTimePasswordLife = 24 * 3_600_000
/** How exact `last_seen_at` is, in milliseconds. */
export const seenEvery = 60_000
/** How long rows of ended sessions stay, in milliseconds: long enough for the audit log to be read beside them. */
export const endedSessionsKept = 24 * 3_600_000

/** How long an account is known where it signed in, in milliseconds. */
export const knownFor = 30 * 24 * 3_600_000

/** How long a link lives by which somebody chooses a password, in milliseconds. */
export const linkLives = { invitation: 7 * 24 * 3_600_000, reset: 3_600_000 } as const
export type LinkPurpose = keyof typeof linkLives
/** Letters with such a link that go to one account within an hour: of each purpose, and as many resets again that an admin asks for. */
export const linkLettersPerHour = 3
/** How long rows of links stay after their end, in milliseconds: so long they count as letters of the hour. */
export const endedLinksKept = 3_600_000
/** Members whom managers may invite into one organisation within a day. */
export const invitationsPerDay = 50
/** How long an account waits for who was invited and never came, from the last letter on, in milliseconds. */
export const invitedFor = 30 * 24 * 3_600_000
/** How often a network may try a link, in a minute. */
export const linkTriesPerMinute = 20

/** What an account is to an admin. Several at once, but `active` stands for none of the three before it. */
export const accountStates = ['invited', 'deactivated', 'erasing', 'active', 'restricted'] as const
export type AccountState = (typeof accountStates)[number]
/** What a manager may know of it: who uses their rights does so in private. */
export const memberStates = ['invited', 'deactivated', 'active'] as const
/** The roles that a manager may give. */
export const memberRoles = ['person', 'manager'] as const

/** Addresses are compared, stored and looked up in this form. */
export const normaliseEmail = (email: string): string => email.trim().normalize('NFC').toLowerCase()

/** The same password typed on two keyboards gives the same bytes (NIST SP 800-63B §5.1.1.2). */
export const normalisePassword = (password: string): string => password.normalize('NFKC')

export type PasswordFault = 'is_email' | 'is_current' | 'repetitive'

/** Why a password of the right length cannot be taken; undefined when it can. */
export function passwordFault(next: string, current: string, email: string): PasswordFault | undefined {
  const chosen = normalisePassword(next)
  const folded = chosen.trim().toLowerCase()
  if (folded === normaliseEmail(email)) return 'is_email'
  if (chosen === normalisePassword(current)) return 'is_current'
  return new Set(folded).size < 5 ? 'repetitive' : undefined
}

/** Guesses at the current password a minute, from within a session. */
export const passwordChecksPerMinute = 5

// Order counts: Edge and Opera call themselves Chrome too, and Chrome calls itself Safari.
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

/** "Firefox on Linux": enough to recognise one's own session by, and no fingerprint. Empty when nothing is known. */
export function browserName(userAgent: string): string {
  const text = userAgent.slice(0, 512)
  const named = (list: [RegExp, string][]) => list.find(([pattern]) => pattern.test(text))?.[1]
  return [named(browsers), named(systems)].filter((part) => part !== undefined).join(' on ')
}

/** The language that an Accept-Language header prefers among ours (RFC 9110 §12.5.4); English when it names none. */
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

/** Where to go after sign-in: a path of ours. Whatever a browser could take for another site's address leads to the overview. */
export function returnPath(text: string | undefined): string {
  const home = '/overview'
  const here = 'https://here.invalid'
  if (text === undefined || !text.startsWith('/') || !URL.canParse(text, here)) return home
  const url = new URL(text, here)
  const path = url.pathname + url.search + url.hash
  // A second slash, however it came about, would begin the name of a host.
  return url.origin === here && !path.startsWith('//') ? path : home
}
