import { shownId } from '#lib/kernel/scoped-ids.ts'
import type { Source } from '../sources.ts'

/** Under which the objects of all projects lie; no pointer that somebody reported reaches there but to its own source. */
const ours = 'projects/'
export const isOurObject = (key: string): boolean => key.startsWith(ours)

/** The key of a document's object, and where those of a message's attachments begin, without the slash. */
export const objectsOf = ({ project, kind, id }: Pick<Source, 'project' | 'kind' | 'id'>): string =>
  `${ours}${project}/${kind}s/${shownId(id)}`

/** Whether a key that a pointer names may go with its source: an application's object may, of ours the source's own alone. */
export const mayGo = (source: Source, key: string): boolean => {
  const own = objectsOf(source)
  return !key.startsWith(ours) || key === own || key.startsWith(`${own}/`)
}

/** Where all objects of a project lie. */
export const objectsOfProject = (project: string): string => `${ours}${project}/`

/**
 * Of an item that is looked for though nothing was there when it was planned: it counts nothing. Beside keys there are `late:` items that
 * say what to look for: no key contains the character after the colon. `ids`: erased ids that this installation made, as JSON; `chosen`:
 * those that a client chose, with their anchors; `within`: projects and conversations whose objects are searched for the erased words.
 */
const late = 'late:'
const mark = '\u001f'
const soughtKinds = ['ids', 'chosen', 'within'] as const
export type SoughtKind = (typeof soughtKinds)[number]
const perItem = 500

export const itemOf = (key: string, { isThere }: { isThere: boolean }): string =>
  isThere && !key.startsWith(late) ? key : late + key
/** A counted item for a key that was found by words: later only its words are looked for. */
const byWords = `${mark}words${mark}`
export const wordsItemOf = (key: string): string => byWords + key
export const isByWords = (item: string): boolean => item.startsWith(byWords)
export const keyOf = (item: string): string => {
  if (item.startsWith(late)) return item.slice(late.length)
  return item.startsWith(byWords) ? item.slice(byWords.length) : item
}
export const isCounted = (item: string): boolean => !item.startsWith(late)

/** Items for values of one kind, many in each. */
export function soughtItems(kind: SoughtKind, values: Iterable<unknown>): string[] {
  const all = [...values]
  const items: string[] = []
  for (let at = 0; at < all.length; at += perItem)
    items.push(late + mark + kind + mark + JSON.stringify(all.slice(at, at + perItem)))
  return items
}
const isSought = (item: string): boolean => item.startsWith(late + mark)
export const keysAmong = (items: readonly string[]): string[] => items.filter((item) => !isSought(item)).map(keyOf)
/** The values of one kind. */
export function soughtAmong(items: readonly string[], kind: SoughtKind): unknown[] {
  const lead = late + mark + kind + mark
  return items.flatMap((item): unknown[] => {
    const values: unknown = item.startsWith(lead) ? JSON.parse(item.slice(lead.length)) : []
    return Array.isArray(values) ? values : []
  })
}
