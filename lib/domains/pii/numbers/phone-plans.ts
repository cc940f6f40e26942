import metadata from 'libphonenumber-js/min/metadata'

/**
 * National number formats from libphonenumber's metadata. Its own parser takes 40 microseconds per number, too long for a text full of
 * numbers.
 */
interface Plan {
  /** The complete national number without the national prefix. */
  number: RegExp
  prefixes: readonly string[]
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '')
/** Rows are [calling code, IDD prefix, pattern, lengths, formats, national prefix, …, patterns of each type of line]. */
function planOf(rows: readonly (readonly unknown[])[]): Plan {
  const patterns = rows.flatMap((row) => {
    // Without a pattern for fixed lines the general pattern applies, as in the library.
    const types = Array.isArray(row[11]) && Array.isArray(row[11][0]) ? row[11] : []
    const lines = types.flatMap((type: unknown) => (Array.isArray(type) ? [text(type[0])] : []))
    return lines.length > 0 ? lines : [text(row[2])]
  })
  const prefixes = rows.map((row) => text(row[5])).filter((prefix) => prefix !== '')
  return { number: new RegExp(`^(?:${[...new Set(patterns)].join('|')})$`), prefixes: [...new Set(prefixes)] }
}
const fits = ({ number, prefixes }: Plan, digits: string): boolean =>
  number.test(digits) ||
  prefixes.some((prefix) => digits.startsWith(prefix) && number.test(digits.slice(prefix.length)))

const rows = new Map<string, readonly unknown[]>(Object.entries(metadata.countries))
const countriesOf = new Map<string, readonly string[]>(Object.entries(metadata.country_calling_codes))
const worldwide = new Map<string, readonly unknown[]>(Object.entries(metadata.nonGeographic ?? {}))
const plans = new Map<string, Plan>()
function planFor(name: string, rowsOf: () => readonly (readonly unknown[])[]): Plan {
  const plan = plans.get(name) ?? planOf(rowsOf())
  plans.set(name, plan)
  return plan
}
const rowOf = (country: string): readonly unknown[] => rows.get(country) ?? []

/** Format of the North American plan: an area code and an exchange that start with 2 to 9. New area codes are added every year. */
export const isAmericanForm = (digits: string): boolean => /^(?!\d11)[2-9]\d{2}(?!\d11)[2-9]\d{6}$/.test(digits)

/** The plan of each calling code; null for codes that nobody has. */
const byCode = new Map<string, Plan | null>()
function planOfCode(code: string): Plan | null {
  const known = byCode.get(code)
  if (known !== undefined) return known
  const own = worldwide.get(code)
  const countries = countriesOf.get(code)
  const plan = own ? planOf([own]) : countries ? planOf(countries.map(rowOf)) : null
  byCode.set(code, plan)
  return plan
}

/** ITU-T E.164: whether the digits are a calling code and a number of one of its countries; a national prefix after the code is allowed. */
export function isInternationalNumber(digits: string): boolean {
  if (digits.charCodeAt(0) === 49 && isAmericanForm(digits.slice(1))) return true
  for (let length = 1; length <= 3; length++) {
    const plan = planOfCode(digits.slice(0, length))
    if (plan !== null) return fits(plan, digits.slice(length))
  }
  return false
}

export const isNumberIn = (country: string, digits: string): boolean =>
  fits(
    planFor(country, () => [rowOf(country)]),
    digits,
  )

/** The patterns, those first that most numbers match: an alternation tries them in order. */
function commonFirst(patterns: readonly string[], length: number): string[] {
  const samples = Array.from({ length: 64 }, (_, at) =>
    String((((at * 0x9e3779b1) >>> 0) / 2 ** 32) * 9 + 1)
      .replace('.', '')
      .padEnd(length, '5273819046')
      .slice(0, length),
  )
  const matched = patterns.map((pattern) => {
    const whole = new RegExp(`^(?:${pattern})$`)
    return { pattern, count: samples.filter((sample) => whole.test(sample)).length }
  })
  return matched.toSorted((one, other) => other.count - one.count).map(({ pattern }) => pattern)
}

/** The possible numbers of a length, of all countries but those of the North American plan. */
const ofLength = new Map<number, RegExp>()
const hasLength = (lengths: unknown, length: number): boolean => !Array.isArray(lengths) || lengths.includes(length)
function numbersOfLength(length: number): RegExp {
  const known = ofLength.get(length)
  if (known) return known
  const patterns = [...rows.values()].flatMap((row) => {
    if (row[0] === '1' || !hasLength(row[3], length)) return []
    const types: readonly unknown[] = Array.isArray(row[11]) && Array.isArray(row[11][0]) ? row[11] : []
    const lines = types.flatMap((type) =>
      Array.isArray(type) && typeof type[0] === 'string' && hasLength(type[1], length) ? [type[0]] : [],
    )
    return lines.length > 0 ? lines : [text(row[2])]
  })
  const pattern = new RegExp(`^(?:${commonFirst([...new Set(patterns)], length).join('|')})$`)
  ofLength.set(length, pattern)
  return pattern
}
const nationalPrefixes = [...new Set([...rows.values()].map((row) => text(row[5])).filter((prefix) => prefix !== ''))]

/**
 * Whether the digits are a national number of any country, with or without its national prefix. Only sensible after a word that announces
 * a phone number: together, the plans accept most numbers of nine or ten digits.
 */
export function isNationalNumber(digits: string): boolean {
  if (digits.length === 10 && isAmericanForm(digits)) return true
  // A national prefix is usual before any other number.
  const isPrefixed = digits.charCodeAt(0) === 48
  if (isPrefixed && numbersOfLength(digits.length - 1).test(digits.slice(1))) return true
  if (numbersOfLength(digits.length).test(digits)) return true
  return nationalPrefixes.some(
    (prefix) =>
      prefix !== '0' &&
      digits.startsWith(prefix) &&
      numbersOfLength(digits.length - prefix.length).test(digits.slice(prefix.length)),
  )
}
