import { parsePhoneNumberFromString } from 'libphonenumber-js'
import { findPersonalData } from '#lib/domains/pii/personal-data.ts'

/** Fewer digits occur in other numbers by chance. */
const leastDigits = 7
const digitsOf = (text: string): string => text.replace(/\D/g, '')

/** The telephone numbers in a text, each as written and in the forms in which other systems store it. */
export function phoneNumbersIn(text: string): string[] {
  if (digitsOf(text).length < leastDigits) return []
  const forms = new Set<string>()
  for (const { start, end } of findPersonalData(text, { kinds: ['phone'] })) {
    const written = text.slice(start, end)
    const parsed = parsePhoneNumberFromString(written)
    const known = [written, ...(parsed ? [parsed.number, parsed.formatInternational(), parsed.formatNational()] : [])]
    for (const form of known) if (digitsOf(form).length >= leastDigits) forms.add(form.trim()).add(digitsOf(form))
  }
  return [...forms]
}
