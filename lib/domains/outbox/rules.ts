/** A link authorizes its bearer, so it is only shown on explicit request. */
const link = /https?:\/\/[^\s<>"]+/g

/** The text of an email with each link replaced by a number such as `‹1›`, and the links. */
export function withoutLinks(text: string): { text: string; links: string[] } {
  const links: string[] = []
  const bare = text.replace(link, (found) => {
    if (!links.includes(found)) links.push(found)
    return `‹${links.indexOf(found) + 1}›`
  })
  return { text: bare, links }
}

const purposes: Readonly<Record<string, string>> = {
  '/password/new': 'password',
  '/privacy/confirm': 'privacy',
  '/emails/unsubscribe': 'unsubscribe',
}
/** Purposes of the links: fixed names, without any part of a link. */
export const purposesOf = (links: readonly string[]): string[] =>
  [...new Set(links.flatMap((one) => (URL.canParse(one) ? (purposes[new URL(one).pathname] ?? []) : [])))].sort()

/** The id of an email is its file name without the extension. */
export const idOf = (name: string): string => name.replace(/\.eml$/, '')
export const emailFileName = (id: string): string => `${id}.eml`
