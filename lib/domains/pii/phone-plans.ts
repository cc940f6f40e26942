import metadata from 'libphonenumber-js/min/metadata'

/**
 * The national numbers of countries as libphonenumber's metadata has them. Its own parser takes 40 microseconds a number, too long for a
 * text that consists of numbers.
 */
interface Plan {
  /** National numbers without the national prefix; a match is the whole number. */
  isNumber: (digits: string) => boolean
  prefix: string
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '')
function planOf(row: readonly unknown[]): Plan {
  // [calling code, IDD prefix, pattern, lengths, formats, national prefix, …, patterns of each type of line]
  const general = new RegExp(`^(?:${text(row[2])})$`)
  const types = Array.isArray(row[11])
    ? row[11].flatMap((type: unknown) => (Array.isArray(type) ? [text(type[0])] : []))
    : []
  const lines = types.length > 0 ? new RegExp(`^(?:${types.join('|')})$`) : undefined
  return { isNumber: (digits) => general.test(digits) && (lines?.test(digits) ?? true), prefix: text(row[5]) }
}

const rows = new Map<string, readonly unknown[]>(Object.entries(metadata.countries))
const plans = new Map<string, Plan>()
function planIn(country: string): Plan {
  const plan = plans.get(country) ?? planOf(rows.get(country) ?? [])
  plans.set(country, plan)
  return plan
}
const countriesOf = new Map<string, readonly string[]>(Object.entries(metadata.country_calling_codes))
const worldwide = new Map<string, readonly unknown[]>(Object.entries(metadata.nonGeographic ?? {}))

const fits = ({ isNumber, prefix }: Plan, digits: string): boolean =>
  isNumber(digits) || (prefix !== '' && digits.startsWith(prefix) && isNumber(digits.slice(prefix.length)))

/** ITU-T E.164: whether the digits are a calling code and a number of one of its countries; a national prefix after the code may stand. */
export function isInternationalNumber(digits: string): boolean {
  for (let length = 1; length <= 3; length++) {
    const code = digits.slice(0, length)
    const rest = digits.slice(length)
    const own = worldwide.get(code)
    if (own) return planOf(own).isNumber(rest)
    const countries = countriesOf.get(code)
    if (countries) return countries.some((country) => fits(planIn(country), rest))
  }
  return false
}

export const isNumberIn = (country: string, digits: string): boolean => fits(planIn(country), digits)

/** Of these a national number is looked for where the text says that it is one to call. */
const usual =
  'US CA GB DE FR ES IT PT BR MX AR CO CL NL BE CH AT IE PL CZ SK HU RO GR SE FI DK NO RU UA TR JP KR CN TW HK SG IN PK ID TH VN MY PH AU NZ ZA NG KE EG AE SA IL IR'.split(
    ' ',
  )
export const isNationalNumber = (digits: string): boolean => usual.some((country) => isNumberIn(country, digits))
