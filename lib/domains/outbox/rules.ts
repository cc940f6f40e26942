/** Whoever has such a link may do what it says, so it is shown to nobody by the way. */
const link = /https?:\/\/[^\s<>"]+/g

/** A letter's text with each link named by a number, `‹1›`, and the links. */
export function withoutLinks(text: string): { text: string; links: string[] } {
  const links: string[] = []
  const bare = text.replace(link, (found) => {
    if (!links.includes(found)) links.push(found)
    return `‹${links.indexOf(found) + 1}›`
  })
  return { text: bare, links }
}

const purposes: Readonly<Record<string, string>> = { '/password/new': 'password', '/privacy/confirm': 'privacy' }
/** What links with a secret are for: names of ours, nothing of the link itself. */
export const purposesOf = (links: readonly string[]): string[] =>
  [...new Set(links.flatMap((one) => (URL.canParse(one) ? (purposes[new URL(one).pathname] ?? []) : [])))].sort()

/** The id of a letter is its file's name without the ending. */
export const idOf = (name: string): string => name.replace(/\.eml$/, '')
export const nameOf = (id: string): string => `${id}.eml`
