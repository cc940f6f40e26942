import type { SensitiveFinding, SensitiveKind } from './findings.ts'
import { isAmericanForm } from './numbers/phone-plans.ts'
import { folded, scan } from './scanner.ts'

/** Maximum values remembered; beyond it each occurrence gets a new number, which bounds memory. */
const remembered = 65_536

/** The digits of a number that consists of digits, spaces and the usual signs; undefined for any other. */
function digitsOf(written: string): string | undefined {
  let digits = ''
  let from = 0
  for (let at = 0; at <= written.length; at++) {
    const code = written.charCodeAt(at)
    if (code > 47 && code < 58) continue
    if (at > from) digits += written.slice(from, at)
    from = at + 1
    // A space, a sign or the end. A bracket may enclose a prefix that is not dialled.
    if (code !== 32 && code !== 43 && (code < 45 || code > 47) && at < written.length) return undefined
  }
  return digits
}

/** The number as dialled from abroad where its form shows the country: the USA's and mainland China's mobiles; otherwise its digits. */
function phoneOf(value: string): string {
  const plain = digitsOf(value)
  const written = plain === undefined ? folded(value) : value
  const number = plain === undefined ? written.replace(/[ ,;]{0,2}(?:x|ext|extension)[ .:]?\d{1,6}$/i, '') : written
  const digits = plain ?? number.replace(/\(0\)|\D/g, '')
  if (/^\s?\(?\+/.test(number)) return digits
  if (digits.startsWith('00')) return digits.slice(2)
  if (digits.length === 11 && /^1[3-9]/.test(digits)) return `86${digits}`
  if (digits.length === 10 && isAmericanForm(digits)) return `1${digits}`
  return digits
}

/** Normalizes different spellings of one value. */
function sameAs(kind: SensitiveKind, written: string): string {
  switch (kind) {
    case 'email':
    case 'ethereum_address':
    case 'ip':
      return written.toLowerCase()
    case 'iban':
      return written.replace(/[^A-Za-z0-9]/g, '').toUpperCase()
    case 'card':
    case 'ssn':
      return folded(written).replace(/\D/g, '')
    case 'phone':
      return phoneOf(written)
    case 'seed_phrase':
      return (
        written
          .toLowerCase()
          .normalize('NFKD')
          .match(/[\p{L}\p{M}]+/gu) ?? []
      ).join(' ')
    case 'name':
    case 'address':
      return written.toLowerCase().replace(/\s+/g, ' ')
    default:
      return written
  }
}

/** Numbers the values of each kind from 1: equal values get equal numbers for the lifetime of this function. */
export function numbering(): (kind: SensitiveKind, written: string) => string {
  const known = new Map<SensitiveKind, { markers: Map<string, string>; last: number }>()
  let count = 0
  return (kind, written) => {
    const value = sameAs(kind, written)
    const ofKind = known.get(kind) ?? { markers: new Map<string, string>(), last: 0 }
    if (ofKind.last === 0) known.set(kind, ofKind)
    const before = ofKind.markers.get(value)
    if (before !== undefined) return before
    ofKind.last += 1
    const marker = `‹${kind}:${ofKind.last}›`
    if (count < remembered) {
      ofKind.markers.set(value, marker)
      count += 1
    }
    return marker
  }
}

/**
 * Replaces each finding with a marker such as `‹email:1›`; equal values get equal numbers. `findings` must be sorted and without overlaps,
 * as {@link scan} returns them. Also replaces findings with the action `block`.
 */
export function redact(
  text: string,
  findings: readonly SensitiveFinding[] = scan(text),
  number: ReturnType<typeof numbering> = numbering(),
): { text: string; findings: readonly SensitiveFinding[] } {
  let written = ''
  let from = 0
  for (const { kind, start, end } of findings) {
    written += text.slice(from, start) + number(kind, text.slice(start, end))
    from = end
  }
  return { text: written + text.slice(from), findings }
}
