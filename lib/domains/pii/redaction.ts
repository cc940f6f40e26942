import type { SensitiveFinding, SensitiveKind } from './findings.ts'
import { isAmericanForm } from './numbers/phone-plans.ts'
import { folded, scan } from './scanner.ts'

/** Maximum values remembered; beyond it each occurrence gets a new number, which bounds memory. */
const remembered = 65_536

/** The number as dialled from abroad where its form shows the country: the USA's and mainland China's mobiles; otherwise its digits. */
function phoneOf(written: string): string {
  const number = written.replace(/[ ,;]{0,2}(?:x|ext|extension)[ .:]?\d{1,6}$/i, '')
  const digits = number.replace(/\(0\)|\D/g, '')
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
      return phoneOf(folded(written))
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
  const known = new Map<string, number>()
  const last = new Map<SensitiveKind, number>()
  return (kind, written) => {
    const value = `${kind} ${sameAs(kind, written)}`
    const before = known.get(value)
    const number = before ?? (last.get(kind) ?? 0) + 1
    if (before === undefined) {
      last.set(kind, number)
      if (known.size < remembered) known.set(value, number)
    }
    return `‹${kind}:${number}›`
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
