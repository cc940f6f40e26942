import { countrySpecs } from 'ibantools'
import { isAlphanumeric } from '#lib/domains/pii/character-classes.ts'
import { finding, type SensitiveFinding } from '#lib/domains/pii/findings.ts'

/** Length and form of the IBANs of each country that has them, also of countries that are not in SWIFT's registry (ISO 13616). */
const countries = new Map(
  Object.entries(countrySpecs).flatMap(([country, { chars, bban_regexp: form }]) =>
    chars && form
      ? [[country, { length: chars, form: new RegExp(`^..[0-9]{2}${form.replace(/^\^/, '')}`) }] as const]
      : [],
  ),
)
const longest = 34

/**
 * Whether it is a valid IBAN: length and structure of its country, and remainder 1 modulo 97. National check digits are not checked,
 * because a number with a wrong one still identifies its account. Expects capitals without gaps.
 */
function isIban(iban: string): boolean {
  const country = countries.get(iban.slice(0, 2))
  if (!country || iban.length !== country.length || !country.form.test(iban)) return false
  let rest = 0
  for (let place = 4; place < iban.length + 4; place++) {
    const code = iban.charCodeAt(place % iban.length)
    const value = code < 65 ? code - 48 : code - 55
    rest = (value > 9 ? rest * 100 + value : rest * 10 + value) % 97
  }
  return rest === 1
}

const gap = /^(?:[ \u00a0\u202f-]|[ \t]{0,4}\r?\n[ \t>*]{0,6})/

/** The IBAN that starts at this word: in one piece, or in groups of four separated by spaces, hyphens or line ends. */
export function ibanAt(text: string, start: number): SensitiveFinding | undefined {
  const country = countries.get(text.slice(start, start + 2).toUpperCase())
  if (!country) return undefined
  let written = ''
  let at = start
  let isGrouped = false
  while (written.length < country.length && written.length < longest) {
    const from = at
    while (isAlphanumeric(text, at) && written.length + at - from < country.length) at += 1
    if (at > from) {
      written += text.slice(from, at)
      continue
    }
    if (written.length % 4 !== 0 || (!isGrouped && written.length > 4)) return undefined
    const between = text.charCodeAt(at) === 32 ? ' ' : gap.exec(text.slice(at, at + 12))?.[0]
    if (between === undefined) return undefined
    isGrouped = true
    at += between.length
  }
  // A label may follow without a gap (`…3000BIC:`): only after a number in one piece and in capitals, which no other number continues.
  const next = text.charAt(at)
  if (/[A-Za-z0-9]/.test(next) && (isGrouped || !/[A-Z]/.test(next) || written !== written.toUpperCase()))
    return undefined
  return isIban(written.toUpperCase()) ? finding('iban', start, at, 1) : undefined
}

/** The IBAN behind the letters with which a word starts: `IBANDE8937…`. */
export function gluedIbanAt(text: string, start: number, end: number): SensitiveFinding | undefined {
  let at = start
  while (at < end && at - start < 16 && !/\d/.test(text.charAt(at))) at += 1
  return at - start > 2 && /^[A-Z]{2}\d\d$/.test(text.slice(at - 2, at + 2)) ? ibanAt(text, at - 2) : undefined
}
