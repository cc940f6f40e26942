import type { Transaction } from '#lib/kernel/context.ts'
import type { ItemId, ReadPage, ReadPlace } from '#lib/kernel/data-source.ts'
import type { CheckpointStore } from '#lib/stores/checkpoints/checkpoints.ts'
import { type MissingStoreData, requireConnectedStores } from '#lib/stores/registered-store.ts'
import { anyMessage, memoriesItem, messageItem } from './items.ts'
import { memoryLabel, memoryText } from './memories-by-words.ts'
import { organisationsOfProjects } from './repository.ts'
import { projectsOf } from './thread-search.ts'

/** The item of a thread, unless another organization owns the thread. The application may have named it itself: then nobody owns it. */
async function itemsOfThread(thread: string, projects: readonly string[], tx: Transaction): Promise<ItemId[]> {
  const owners = [...((await projectsOf(tx, [thread])).get(thread) ?? [])]
  if (owners.length > 0 && !owners.some((one) => projects.includes(one))) {
    const own = (await organisationsOfProjects(tx, { projects })).map(({ organisation }) => organisation)
    const theirs = await organisationsOfProjects(tx, { projects: owners })
    if (!theirs.some(({ organisation }) => own.includes(organisation))) return []
  }
  return [messageItem(thread, anyMessage, null)]
}

/** Reads all rows of LangGraph's tables, of any owner. */
export const checkpointReader =
  ({ store, whatIsMissing }: { store: CheckpointStore; whatIsMissing: MissingStoreData }) =>
  async (after: string | null, visit: (place: ReadPlace) => Promise<void>): Promise<ReadPage> => {
    await requireConnectedStores(whatIsMissing)
    const { rows, memories, unread, next } = await store.readPage(after)
    for (const { thread, texts, writtenAt } of rows)
      await visit({
        id: `thread:${thread}`,
        texts,
        writtenAt,
        itemsOf: (projects, tx) => itemsOfThread(thread, projects, tx),
      })
    for (const memory of memories)
      await visit({
        id: `memory:${memoryLabel(memory)}`,
        texts: [memoryText(memory)],
        writtenAt: async () => memory.writtenAt,
        itemsOf: async (projects) => [memoriesItem(projects)],
      })
    return { next, unread }
  }
