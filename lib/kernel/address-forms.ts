import { domainToASCII, domainToUnicode } from 'node:url'

/**
 * The form in which addresses are compared: in lower case and NFC, the domain in ASCII (RFC 5890), as headers write it. Addresses are stored
 * and shown as people enter them.
 */
export function comparableAddress(address: string): string {
  const text = address.trim()
  const at = text.lastIndexOf('@')
  const domain = text.slice(at + 1)
  return `${text.slice(0, at)}@${domainToASCII(domain) || domain}`.normalize('NFC').toLowerCase().normalize('NFC')
}

export const isSameAddress = (one: string, other: string): boolean =>
  comparableAddress(one) === comparableAddress(other)

/** The forms in which the same address may be stored, as it was entered first. All are in lower case. An ASCII address has one. */
export function storedForms(address: string): string[] {
  const entered = address.trim().toLowerCase()
  const comparable = comparableAddress(address)
  const at = comparable.lastIndexOf('@')
  const domain = comparable.slice(at + 1)
  const unicode = `${comparable.slice(0, at)}@${domainToUnicode(domain) || domain}`
  return [
    ...new Set([entered, comparable, unicode].flatMap((form) => [form, form.normalize('NFC'), form.normalize('NFD')])),
  ]
}
