import type { Source } from '#lib/domains/projects/provenance/sources.ts'
import { shownId } from '#lib/kernel/scoped-ids.ts'

/** Key prefix of the objects of all projects. Applications may have other objects there. */
const ours = 'projects/'
/**
 * Whether a key is where this installation stores files of messages and documents. A reported pointer is used there only for its own source,
 * and what a message's or document's own prefix contains is deleted with it, also what a crash left.
 */
export const isOurObject = (key: string): boolean =>
  /^projects\/prj_[0-9A-Za-z]{22}\/(?:messages|documents)\//.test(key)

const uploadKey =
  /^projects\/prj_[0-9A-Za-z]{22}\/(?:messages\/[\w.:-]+\/att_[0-9A-Za-z]{22}|documents\/[\w.:-]+\/file_[0-9A-Za-z]{22})$/
const stateKey = /^snapshots\/[\w.:-]+\/state\/state_[0-9A-Za-z]{22}$/
const snapshotKey = /^snapshots\/[\w.:-]+\/snap_[0-9A-Za-z]{22}$/
/**
 * Whether a file of a message or document, or an uploaded state may have this key. A row names it when its upload is complete. The row of a
 * snapshot is older than its object, so an object with such a key and without a row is an application's.
 */
export const isUploadKey = (key: string): boolean => uploadKey.test(key) || stateKey.test(key)

/** The object that names the installation that sweeps the bucket. */
export const installationKey = 'knowledgepulse-installation'
/** Key prefix for notes of a run about the objects it changed. A repeated attempt after a crash then gives the same result. */
export const notePrefix = (run: string): string => `knowledgepulse-erasing/${run}/`
const noteKey = /^knowledgepulse-erasing\/run_[0-9A-Za-z]{22}\/[\w-]{22}$/
/** Whether the key is of this installation's own objects without content of people: its mark, and notes, which are empty. */
export const isMark = (key: string): boolean => key === installationKey || noteKey.test(key)

/** Whether only this installation uses the key. Applications cannot report it, except for the source that it belongs to. */
export const isReserved = (key: string): boolean =>
  isOurObject(key) || isUploadKey(key) || snapshotKey.test(key) || isMark(key)

/** Whether rows of this installation may name the object. Other keys are searched without asking. */
export const mayHaveRow = (key: string): boolean => key.startsWith(ours) || isInSnapshots(key)
export const isInSnapshots = (key: string): boolean => key.startsWith('snapshots/')

/** The key of a document's object, or the prefix of a message's attachments without the slash. */
export const objectItemsOf = ({ project, kind, id }: Pick<Source, 'project' | 'kind' | 'id'>): string =>
  `${ours}${project}/${kind}s/${shownId(id)}`

/** Whether a key that a pointer names may be deleted with its source: an object of an application, or the source's own object. */
export const mayDeleteObject = (source: Source, key: string): boolean => {
  const own = objectItemsOf(source)
  return !isReserved(key) || key === own || key.startsWith(`${own}/`)
}

/** The key prefix of all objects of a project. */
export const objectsOfProject = (project: string): string => `${ours}${project}/`

/**
 * Prefix of items that are only searched for: no object existed at planning, and they are not counted. Besides keys, there are `late:`
 * items with search terms; the control character after the colon distinguishes them from keys. `ids`: erased generated ids, as JSON;
 * `chosen`: ids that clients chose, with their anchors; `within`: projects and conversations whose objects are searched for the erased
 * words.
 */
const late = 'late:'
const mark = '\u001f'
const soughtKinds = ['ids', 'chosen', 'within'] as const
export type SoughtKind = (typeof soughtKinds)[number]
const perItem = 500

export const objectItemOf = (key: string, { isThere }: { isThere: boolean }): string =>
  isThere && !key.startsWith(late) ? key : late + key
/** Prefix of counted items for keys found by words. Verification searches them only for words. */
const byWords = `${mark}words${mark}`
export const wordsItemOf = (key: string): string => byWords + key
export const isWordsItem = (item: string): boolean => item.startsWith(byWords)
export const keyOf = (item: string): string => {
  if (item.startsWith(late)) return item.slice(late.length)
  return item.startsWith(byWords) ? item.slice(byWords.length) : item
}
export const isCounted = (item: string): boolean => !item.startsWith(late)

/** Items for search terms of one kind, with up to `perItem` values each. */
export function soughtItems(kind: SoughtKind, values: Iterable<unknown>): string[] {
  const all = [...values]
  const items: string[] = []
  for (let at = 0; at < all.length; at += perItem)
    items.push(late + mark + kind + mark + JSON.stringify(all.slice(at, at + perItem)))
  return items
}
const isSought = (item: string): boolean => item.startsWith(late + mark)
export const keysAmong = (items: readonly string[]): string[] => items.filter((item) => !isSought(item)).map(keyOf)
/** The search terms of one kind. */
export function soughtAmong(items: readonly string[], kind: SoughtKind): unknown[] {
  const lead = late + mark + kind + mark
  return items.flatMap((item): unknown[] => {
    const values: unknown = item.startsWith(lead) ? JSON.parse(item.slice(lead.length)) : []
    return Array.isArray(values) ? values : []
  })
}
