import { parsePhoneNumberFromString } from 'libphonenumber-js'
import type { SensitiveFinding, SensitiveKind } from './findings.ts'
import { scan } from './scanner.ts'

/** Maximum values remembered; beyond it each occurrence gets a new number, which bounds memory. */
const remembered = 65_536

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
      return written.replace(/\D/g, '')
    case 'phone': {
      const region = /^1[3-9]/.test(written) ? 'CN' : 'US'
      return parsePhoneNumberFromString(written, region)?.number ?? written.replace(/\D/g, '')
    }
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
