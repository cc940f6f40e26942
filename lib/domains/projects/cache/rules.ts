import { shownId } from '#lib/kernel/scoped-ids.ts'
/**
 * Items of an erasure in the cache. Names are stored as hashes, because a name may contain what people asked.
 * - `key:<hash>`: an entry that a pointer names. Items of older versions contain the name itself.
 * - `found:<hash>`: an entry that the search found at planning.
 * - `search:`: the store could not be searched at planning, so the erasure searches it.
 *
 * Also searched for later:
 * - `about:<id>` of an erased message, document or conversation;
 * - `chosen:<anchors>:<id>` if a client chose the id (see {@link isOurKey});
 * - `who:<id>` of an erased person or agent;
 * - `alias:<hash>` of an external id of the erased person, whose row is deleted before the entries are verified;
 * - `within:<id>` of a project or conversation: entries with this id are searched for the erased words.
 */
export const itemKinds = ['about', 'chosen', 'who', 'alias', 'key', 'found', 'search', 'within'] as const
export type ItemKind = (typeof itemKinds)[number]

export const cacheItemOf = (kind: ItemKind, what = ''): string => `${kind}:${what}`

export function itemsByKind(items: readonly string[]): Record<ItemKind, string[]> {
  const found: Record<ItemKind, string[]> = {
    about: [],
    chosen: [],
    who: [],
    alias: [],
    key: [],
    found: [],
    search: [],
    within: [],
  }
  for (const item of items)
    for (const kind of itemKinds) if (item.startsWith(`${kind}:`)) found[kind].push(item.slice(kind.length + 1))
  return found
}

/** An id that a client chose. It identifies the source only in entries that also contain one of the anchors, which are generated ids. */
export interface Chosen {
  id: string
  anchors: readonly string[]
}
/** Adds the id of an erased source to the ids to search for: a generated id without anchors, a client's id with its anchors. */
export function addErasedId(
  found: { ids: Set<string>; chosen: Map<string, Chosen> },
  kind: Parameters<typeof isOurKey>[0],
  id: string,
  anchors: readonly string[],
): void {
  if (isOurKey(kind, id)) {
    found.ids.add(id)
    return
  }
  const chosen = shownId(id)
  // The stored id contains the project's id and is therefore unique.
  if (chosen !== id) found.ids.add(id)
  const known = found.chosen.get(chosen)
  found.chosen.set(chosen, { id: chosen, anchors: known ? [...new Set([...known.anchors, ...anchors])] : anchors })
}
/** Merges equal chosen ids of several projects and their anchors. */
export function mergedChosen(all: Iterable<Chosen>): Map<string, Chosen> {
  const merged = new Map<string, Chosen>()
  for (const { id, anchors } of all)
    merged.set(id, { id, anchors: [...new Set([...(merged.get(id)?.anchors ?? []), ...anchors])] })
  return merged
}
/** From stored ids, the chosen ids that are unique only in their project. The same id in another project means something else. */
export const uniqueInProject = (stored: Iterable<string>): Set<string> =>
  new Set([...stored].flatMap((id) => (shownId(id) === id ? [] : [shownId(id)])))
export const chosenItem = ({ id, anchors }: Chosen): string => cacheItemOf('chosen', `${anchors.join(',')}:${id}`)
export function chosenOf(what: string): Chosen {
  const at = what.indexOf(':')
  return { id: what.slice(at + 1), anchors: what.slice(0, at).split(',').filter(Boolean) }
}

const prefixes = { message: 'msg_', document: 'doc_', conversation: 'conv_', project: 'prj_' } as const
const ownForm = /^[a-z]{2,8}_[0-9A-Za-z]{22}$/
/** Whether an id has the form of a generated id. */
export const mayBeOurKey = (id: string): boolean => ownForm.test(id)
/**
 * Whether an id is globally unique: this installation generates ids with the prefix of their kind. A client chose any other id, of whatever
 * form. It may equal an id in another project, or be a common word.
 */
export const isOurKey = (kind: keyof typeof prefixes, id: string): boolean =>
  mayBeOurKey(id) && id.startsWith(prefixes[kind])

/** Whether to search for a client's id in names and values. Other ids are only found by the index and by pointers. */
export const isDistinctiveKey = (id: string): boolean => id.length >= 8 && /[0-9]/.test(id)

/**
 * Ids of projects, conversations, threads and groups that may identify them in the name of a key: generated ones, and distinctive ones that
 * an application chose.
 */
export const keyingIds = (ids: Iterable<string>): string[] =>
  [...ids].filter(
    (id) => isOurKey('project', id) || isOurKey('conversation', id) || (!mayBeOurKey(id) && isDistinctiveKey(id)),
  )

/** Limits names found by a client's ids or texts. If there are too many, the id is too common, and only our own entries are returned. */
export const followed = (names: readonly string[], strings: number, ownPrefix: string): string[] =>
  names.length <= Math.max(1_000, 20 * strings) ? [...names] : names.filter((name) => name.startsWith(ownPrefix))

/** Whether an erasure may delete this name. False for our own counters and indexes. Applications may use an agent's id as a prefix. */
export const mayDeleteKey = (name: string, ownPrefix: string): boolean =>
  name.startsWith(ownPrefix) || name.startsWith('kp:agent:') || !name.startsWith('kp:')

/** A hash field that names the message or document that the hash describes. */
const identifying = /^(?:id|uuid|source|ref|message|document|.*[_.:-]id|.*[a-z]Id)$/
/** Whether a hash with an erased id in this field is a single record about it, not a collection. */
export const isRecordField = (field: string, value: string, id: string): boolean =>
  identifying.test(field) && value === id
