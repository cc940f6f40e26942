import { shownId } from '#lib/kernel/scoped-ids.ts'
/**
 * What an erasure notes of the cache; of names their hashes, for a name may say what people asked. `key:<hash>`: an entry that a pointer names
 * (items of former days have the name itself). `found:<hash>`: one that the search found when it was planned. `search:`: nobody could search
 * then, so that it is done when it is erased. To be looked for later, too: `about:<id>` of a message, document or conversation that goes;
 * `chosen:<anchors>:<id>` where a client gave it its id (see {@link isOurs}); `who:<id>` of whom. `within:<id>` of a project or conversation:
 * entries with this id are searched for the erased words.
 */
export const itemKinds = ['about', 'chosen', 'who', 'key', 'found', 'search', 'within'] as const
export type ItemKind = (typeof itemKinds)[number]

export const itemOf = (kind: ItemKind, what = ''): string => `${kind}:${what}`

export function itemsByKind(items: readonly string[]): Record<ItemKind, string[]> {
  const found: Record<ItemKind, string[]> = {
    about: [],
    chosen: [],
    who: [],
    key: [],
    found: [],
    search: [],
    within: [],
  }
  for (const item of items)
    for (const kind of itemKinds) if (item.startsWith(`${kind}:`)) found[kind].push(item.slice(kind.length + 1))
  return found
}

/** An id that a client chose, with ids of ours beside which alone it is taken for what it seems to be. */
export interface Chosen {
  id: string
  anchors: readonly string[]
}
/** Adds the id of an erased source to the ids to search for: an id that we made by itself, an id that a client chose beside its anchors. */
export function addErasedId(
  found: { ids: Set<string>; chosen: Map<string, Chosen> },
  kind: Parameters<typeof isOurs>[0],
  id: string,
  anchors: readonly string[],
): void {
  if (isOurs(kind, id)) {
    found.ids.add(id)
    return
  }
  const chosen = shownId(id)
  // The stored id contains the project: nothing else has it.
  if (chosen !== id) found.ids.add(id)
  const known = found.chosen.get(chosen)
  found.chosen.set(chosen, { id: chosen, anchors: known ? [...new Set([...known.anchors, ...anchors])] : anchors })
}
/** A chosen id in several projects has the anchors of all. */
export function mergedChosen(all: Iterable<Chosen>): Map<string, Chosen> {
  const merged = new Map<string, Chosen>()
  for (const { id, anchors } of all)
    merged.set(id, { id, anchors: [...new Set([...(merged.get(id)?.anchors ?? []), ...anchors])] })
  return merged
}
/** Chosen ids that are unique in their projects alone, from stored ids: the same id of another project is something else. */
export const uniqueInProject = (stored: Iterable<string>): Set<string> =>
  new Set([...stored].flatMap((id) => (shownId(id) === id ? [] : [shownId(id)])))
export const chosenItem = ({ id, anchors }: Chosen): string => itemOf('chosen', `${anchors.join(',')}:${id}`)
export function chosenOf(what: string): Chosen {
  const at = what.indexOf(':')
  return { id: what.slice(at + 1), anchors: what.slice(0, at).split(',').filter(Boolean) }
}

const prefixes = { message: 'msg_', document: 'doc_', conversation: 'conv_', project: 'prj_' } as const
const ownForm = /^[a-z]{2,8}_[0-9A-Za-z]{22}$/
/** Whether it looks like an id of ours, whoever made it. */
export const looksOurs = (id: string): boolean => ownForm.test(id)
/**
 * Whether nobody else can mean something by it: ids of one kind are unique, and made by us where they begin as their kind does. Any other,
 * of whatever form, is the client's choice: it may be the id of something of another, or a word that half of a database contains.
 */
export const isOurs = (kind: keyof typeof prefixes, id: string): boolean =>
  looksOurs(id) && id.startsWith(prefixes[kind])

/** Whether an id that a client chose is looked for in names and values at all, and not by the index and pointers alone. */
export const isTelling = (id: string): boolean => id.length >= 8 && /[0-9]/.test(id)

/** Of what contains ids or texts that a client chose: all of it, unless it is so much that they must be everybody's; then what is ours. */
export const followed = (names: readonly string[], strings: number, ownPrefix: string): string[] =>
  names.length <= Math.max(1_000, 20 * strings) ? [...names] : names.filter((name) => name.startsWith(ownPrefix))

/** Names that an erasure may take: everything but what we count and find by. */
export const mayGo = (name: string, ownPrefix: string): boolean => name.startsWith(ownPrefix) || !name.startsWith('kp:')

/** A field that tells which message or document a hash is about. */
const identifying = /^(?:id|uuid|source|ref|message|document|.*[_.:-]id|.*[a-z]Id)$/
/** Whether a hash with an erased id in this field is one record about it, and no collection. */
export const isRecordField = (field: string, value: string, id: string): boolean =>
  identifying.test(field) && value === id
