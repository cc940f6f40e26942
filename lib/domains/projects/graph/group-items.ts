import type { ItemId } from '#lib/kernel/data-source.ts'

/** What a page erases in one group. Contains only ids, so that a search days later needs no other data. */
export interface GroupItems {
  group: string
  /** Uuids of episodes. */
  episodes: string[]
  /** Ids that only pointers name: no such episode existed at planning, or the graph did not answer. Such an id may be any word. */
  reported: string[]
  /** Messages and documents. Their episodes are found by the ids that the episodes name. */
  about: string[]
  /** Sources whose episodes are also found by text, because the graph did not answer when it was planned. */
  unsearched: string[]
  /** Number of portions, for a group that is erased completely. */
  portions: number
  /** Search for the person's name in remaining records. */
  names: boolean
  /** Search for the erased words in every text. */
  words: boolean
  /** Records in which to search for names of the erased person. */
  records: string[]
}

/** Rows of a group in one portion. */
export const portionSize = 100

/** Whether a pointer can be an episode's uuid in an item. It must not contain characters that have a meaning in items. */
export const isEpisodeId = (ref: string): boolean => /^[\w.-]{1,200}$/.test(ref)
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** How to find episodes: UUIDs are searched for in any text; other ids may be ordinary words and are only compared with ids. */
export function soughtAs({ episodes, reported }: Pick<GroupItems, 'episodes' | 'reported'>): {
  anywhere: string[]
  asIds: string[]
} {
  return {
    anywhere: episodes.filter((id) => uuid.test(id)),
    asIds: [...episodes.filter((id) => !uuid.test(id)), ...reported],
  }
}

export const episodeItem = (group: string, uuid: string): ItemId => `${group}/${uuid}`
export const reportedItem = (group: string, ref: string): ItemId => `${group}/told:${ref}`
export const aboutItem = (group: string, source: string): ItemId => `${group}/about:${source}`
export const unsearchedItem = (group: string, source: string): ItemId => `${group}/text:${source}`
export const namesItem = (group: string): ItemId => `${group}/names:`
export const isNames = (item: ItemId): boolean => item.endsWith('/names:')
export const wordsItem = (group: string): ItemId => `${group}/words:`
export const recordItem = (group: string, uuid: string): ItemId => `${group}/in:${uuid}`
/** A record without a group, by its kind and the store's internal id. */
export const ungroupedItem = (kind: 'node' | 'link', id: string): ItemId => `/${kind}:${id}`
export const isUngrouped = (item: ItemId): boolean => /^\/(?:node|link):/.test(item)
export const ungroupedOf = (items: readonly ItemId[], kind: 'node' | 'link'): string[] =>
  items.flatMap((item) => (item.startsWith(`/${kind}:`) ? [item.slice(kind.length + 2)] : []))
export const portionItem = (group: string, number: number): ItemId => `${group}/*${String(number).padStart(7, '0')}`

export const isPortionOf = (item: ItemId, group: string): boolean => item.startsWith(`${group}/*`)

/** Groups the items and sorts the groups by name. */
export function itemsByGroup(items: readonly ItemId[]): GroupItems[] {
  const groups = new Map<string, GroupItems>()
  for (const item of items) {
    const slash = item.indexOf('/')
    const [group, rest] = [item.slice(0, slash), item.slice(slash + 1)]
    const of = groups.get(group) ?? {
      group,
      episodes: [],
      reported: [],
      about: [],
      unsearched: [],
      portions: 0,
      names: false,
      words: false,
      records: [],
    }
    groups.set(group, of)
    if (rest.startsWith('*')) of.portions++
    else if (rest === 'names:') of.names = true
    else if (rest === 'words:') of.words = true
    else if (rest.startsWith('in:')) of.records.push(rest.slice(3))
    else if (rest.startsWith('told:')) of.reported.push(rest.slice(5))
    else if (rest.startsWith('about:')) of.about.push(rest.slice(6))
    else if (rest.startsWith('text:')) of.unsearched.push(rest.slice(5))
    else of.episodes.push(rest)
  }
  return [...groups.values()].sort((one, other) => (one.group < other.group ? -1 : 1))
}
