import { cutFrom } from '#lib/domains/projects/words/derived-text.ts'
import { mergeSpans } from '#lib/domains/projects/words/fingerprints.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { ErasedWords, ItemId, ReadPage, ReadPlace } from '#lib/kernel/data-source.ts'
import type { GraphStore } from '#lib/stores/graph/graph.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { type MissingStoreData, requireConnectedStores } from '#lib/stores/registered-store.ts'
import { isUngrouped, ungroupedItem, ungroupedOf, wordsItem } from './items.ts'

/** The item of a group, unless it belongs to a project of another organization. Applications also write into groups of no project. */
async function itemsOfGroup(group: string, projects: readonly string[], tx: Transaction): Promise<ItemId[]> {
  const owner = await tx.project.findUnique({ where: { groupId: group }, select: { organisationId: true } })
  if (owner) {
    const own = await tx.project.findMany({
      where: { id: { in: [...projects] } },
      select: { organisationId: true },
    })
    if (!own.some(({ organisationId }) => organisationId === owner.organisationId)) return []
  }
  return [wordsItem(group)]
}

/** Reads all records of the graph, of whichever group. */
export const graphReader =
  ({ db, graph, whatIsMissing }: { db: Database; graph: GraphStore; whatIsMissing: MissingStoreData }) =>
  async (after: string | null, visit: (place: ReadPlace) => Promise<void>): Promise<ReadPage> => {
    await requireConnectedStores(whatIsMissing)
    const { elements, next } = await db.transaction((tx) => graph.page(after, tx))
    for (const { id, kind, group, texts, writtenAt } of elements)
      await visit({
        id: `${kind}:${id}`,
        texts: texts.map(({ text }) => text),
        writtenAt: async () => writtenAt,
        itemsOf: async (projects, tx) =>
          group === null ? [ungroupedItem(kind, id)] : itemsOfGroup(group, projects, tx),
      })
    return { next, unread: {} }
  }

/** Cuts erased words from records without a group. Returns how many changed, and the other items. */
export async function eraseUngrouped(
  graph: GraphStore,
  items: readonly ItemId[],
  words: ErasedWords | undefined,
): Promise<{ count: number; rest: ItemId[] }> {
  const rest = items.filter((item) => !isUngrouped(item))
  if (rest.length === items.length || words === undefined) return { count: 0, rest }
  const cut = (text: string): string | undefined => {
    const spans = mergeSpans([...words.runsIn(text), ...words.namesIn(text)])
    return spans.length === 0 ? undefined : (cutFrom(text, spans) ?? '')
  }
  let count = 0
  for (const kind of ['node', 'link'] as const) {
    const ids = ungroupedOf(items, kind)
    if (ids.length > 0) count += await graph.cutUngrouped(kind, ids, cut)
  }
  return { count, rest }
}
