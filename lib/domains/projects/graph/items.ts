import type { ItemId } from '#lib/kernel/holder.ts'

/** What a page erases in one group: ids alone, so that a search a day later needs nothing else. */
export interface GroupItems {
  group: string
  /** Uuids of episodes. */
  episodes: string[]
  /** What pointers call episodes, and was none when it was planned, or nobody could look: it may be any word. */
  told: string[]
  /** Messages and documents whose episodes are looked for by the ids that they name. */
  about: string[]
  /** Those whose episodes are looked for by their texts, too, because the graph did not answer when it was planned. */
  unsearched: string[]
  /** Portions of a group that goes whole. */
  portions: number
  /** The name of the person is looked for in what stays. */
  names: boolean
  /** The erased words are searched in every text. */
  words: boolean
}

/** Rows of a group that one portion stands for. */
export const portionSize = 100

/** What can be an episode's uuid in an item: nothing that stands for something else there. */
export const isEpisodeId = (ref: string): boolean => /^[\w.-]{1,200}$/.test(ref)
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** What names an episode where it stands in a text: its id, unless that may be a word. The rest is compared with ids alone. */
export function soughtAs({ episodes, told }: Pick<GroupItems, 'episodes' | 'told'>): {
  anywhere: string[]
  asIds: string[]
} {
  return {
    anywhere: episodes.filter((id) => uuid.test(id)),
    asIds: [...episodes.filter((id) => !uuid.test(id)), ...told],
  }
}

export const episodeItem = (group: string, uuid: string): ItemId => `${group}/${uuid}`
export const toldItem = (group: string, ref: string): ItemId => `${group}/told:${ref}`
export const aboutItem = (group: string, source: string): ItemId => `${group}/about:${source}`
export const unsearchedItem = (group: string, source: string): ItemId => `${group}/text:${source}`
export const namesItem = (group: string): ItemId => `${group}/names:`
export const wordsItem = (group: string): ItemId => `${group}/words:`
export const portionItem = (group: string, number: number): ItemId => `${group}/*${String(number).padStart(7, '0')}`

export const isPortionOf = (item: ItemId, group: string): boolean => item.startsWith(`${group}/*`)

/** Items by their groups, in the order of the groups' names. */
export function itemsByGroup(items: readonly ItemId[]): GroupItems[] {
  const groups = new Map<string, GroupItems>()
  for (const item of items) {
    const slash = item.indexOf('/')
    const [group, rest] = [item.slice(0, slash), item.slice(slash + 1)]
    const of = groups.get(group) ?? {
      group,
      episodes: [],
      told: [],
      about: [],
      unsearched: [],
      portions: 0,
      names: false,
      words: false,
    }
    groups.set(group, of)
    if (rest.startsWith('*')) of.portions++
    else if (rest === 'names:') of.names = true
    else if (rest === 'words:') of.words = true
    else if (rest.startsWith('told:')) of.told.push(rest.slice(5))
    else if (rest.startsWith('about:')) of.about.push(rest.slice(6))
    else if (rest.startsWith('text:')) of.unsearched.push(rest.slice(5))
    else of.episodes.push(rest)
  }
  return [...groups.values()].sort((one, other) => (one.group < other.group ? -1 : 1))
}
