/** The most people that one form invites. */
export const maxAddresses = 50

export interface TypedAddress {
  email: string
  name: string
}
/** A rough check; the server decides. */
const isAddress = (text: string): boolean => /^[^\s@<>]+@[^\s@<>]+$/.test(text)

/**
 * Reads pasted addresses, separated by lines, commas or semicolons: `kim@example.org` or `Kim Example <kim@example.org>`. Without a name,
 * the part before the @ is the name. Repeated addresses count once.
 */
export function typedAddresses(text: string): { people: TypedAddress[]; wrong: string[] } {
  const people = new Map<string, TypedAddress>()
  const wrong: string[] = []
  for (const entry of text.split(/[\n,;]/).map((part) => part.trim())) {
    if (entry === '') continue
    const named = /^([^<>]*)<([^<>]+)>$/.exec(entry)
    const email = (named?.[2] ?? entry).trim()
    if (!isAddress(email)) {
      wrong.push(entry)
      continue
    }
    const name = named?.[1]?.replaceAll('"', '').trim() || email.slice(0, email.lastIndexOf('@'))
    if (!people.has(email.toLowerCase())) people.set(email.toLowerCase(), { email, name })
  }
  return { people: [...people.values()], wrong }
}
