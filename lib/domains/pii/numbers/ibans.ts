import { finding, type SensitiveFinding } from '#lib/domains/pii/findings.ts'
import { bbans } from './iban-registry.ts'

const signs = { n: '[0-9]', a: '[A-Z]', c: '[A-Z0-9]' } as const
const isSign = (kind: string): kind is keyof typeof signs => kind in signs

const countries = new Map(
  Object.entries(bbans).map(([country, structure]) => {
    let length = 4
    let form = '^..[0-9]{2}'
    for (const [, count = '', kind = ''] of structure.matchAll(/(\d{1,3})([nac])/g)) {
      length += Number(count)
      form += `${isSign(kind) ? signs[kind] : ''}{${count}}`
    }
    return [country, { length, form: new RegExp(`${form}$`) }] as const
  }),
)
const longest = 34

/**
 * Whether it is a valid IBAN: length and structure of its country in the registry, and remainder 1 modulo 97. Expects capitals without
 * gaps.
 */
function isIban(iban: string): boolean {
  const country = countries.get(iban.slice(0, 2))
  if (!country || iban.length !== country.length || !country.form.test(iban)) return false
  let rest = 0
  for (const sign of iban.slice(4) + iban.slice(0, 4)) {
    const value = Number.parseInt(sign, 36)
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
    const sign = text.charAt(at)
    if (/[A-Za-z0-9]/.test(sign)) {
      written += sign
      at += 1
      continue
    }
    if (written.length % 4 !== 0 || (!isGrouped && written.length > 4)) return undefined
    const between = gap.exec(text.slice(at, at + 12))?.[0]
    if (between === undefined) return undefined
    isGrouped = true
    at += between.length
  }
  if (/[A-Za-z0-9]/.test(text.charAt(at))) return undefined
  return isIban(written.toUpperCase()) ? finding('iban', start, at, 1) : undefined
}
