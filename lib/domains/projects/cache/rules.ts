/**
 * What an erasure looks for in the cache: `about:<id>` of each message and document that goes,
 * `who:<id>` of whom, where anything was set about them, `key:<name>` of each entry that is known, `near:<id>` of a conversation that stays: what is kept of it goes once and may come
 * again without what was erased; `search:` for a scan of everything.
 */
export const itemKinds = ['about', 'who', 'key', 'near', 'search'] as const
export type ItemKind = (typeof itemKinds)[number]

export const itemOf = (kind: ItemKind, what = ''): string => `${kind}:${what}`

export function itemsByKind(items: readonly string[]): Record<ItemKind, string[]> {
  const found: Record<ItemKind, string[]> = { about: [], who: [], key: [], near: [], search: [] }
  for (const item of items)
    for (const kind of itemKinds) if (item.startsWith(`${kind}:`)) found[kind].push(item.slice(kind.length + 1))
  return found
}

/** Ids that nobody chose: ours (`msg_` and 22 characters), and UUIDs. */
const generated = /^([a-z]{2,8}_[0-9A-Za-z]{22}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i
export const isGenerated = (id: string): boolean => generated.test(id)

/**
 * Whether names and values that contain the id are taken to be about it. A client may call a message `user` or `assistant`, which half of
 * a database contains: such a one is looked for by the index and by pointers alone.
 */
export const isTelling = (id: string): boolean => isGenerated(id) || (id.length >= 8 && /[0-9]/.test(id))

/** Of what contains ids that a client chose: all of it, unless that is so much that the ids must be words of everybody's; then what is ours. */
export const followed = (names: readonly string[], ids: readonly string[], ownPrefix: string): string[] =>
  names.length <= Math.max(1_000, 20 * ids.length) ? [...names] : names.filter((name) => name.startsWith(ownPrefix))

/** Names that a pointer may have erased: everything but what we count and find by. */
export const mayGo = (name: string, ownPrefix: string): boolean => name.startsWith(ownPrefix) || !name.startsWith('kp:')

/** A text is looked for whole, as it is and as it stands in JSON; a short one would be found everywhere. */
export const textsToFind = (texts: readonly string[]): string[] => {
  const telling = texts.map((text) => text.trim()).filter((text) => text.length >= 20 && text.length <= 20_000)
  return [...new Set(telling.flatMap((text) => [text, JSON.stringify(text).slice(1, -1)]))]
}
