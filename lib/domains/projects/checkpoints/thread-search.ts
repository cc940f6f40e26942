import type { Source } from '#lib/domains/projects/provenance/sources.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { shownId } from '#lib/kernel/scoped-ids.ts'
import type { Remembered } from '#lib/stores/checkpoints/checkpoints.ts'
import { projectsOfThreads } from './repository.ts'

/** The texts and ids by which a source is found, and what it belongs to. */
export type ThreadSearch = Pick<Source, 'id' | 'kind' | 'project' | 'conversation' | 'threads' | 'texts' | 'pointers'>

const pointersOf = ({ pointers }: Pick<ThreadSearch, 'pointers'>) =>
  pointers.filter(({ store }) => store === 'checkpoints')
/** Ids from pointers, without the source's own id. */
export const refsOf = (source: ThreadSearch): string[] =>
  pointersOf(source).flatMap(({ ref }) => (ref === shownId(source.id) ? [] : [ref]))
/** Ids that provenance reports. They may belong to messages of the application. */
export const reportedOf = (sources: readonly ThreadSearch[]): Set<string> => new Set(sources.flatMap(refsOf))
/** Ids under which threads may contain the source. */
export const idsOf = (source: ThreadSearch): string[] => [...new Set([shownId(source.id), ...refsOf(source)])]
export const soughtTextsOf = (source: ThreadSearch): Set<string> => new Set(source.texts.map((text) => text.trim()))
/** Threads of the source's conversation, and threads that pointers of its project name. */
export const threadsOf = (source: ThreadSearch): string[] => [
  ...new Set([...source.threads, ...pointersOf(source).flatMap(({ place }) => (place === '' ? [] : [place]))]),
]

const made = /^(msg|doc)_[0-9A-Za-z]{22}$/
/**
 * Whether an id was generated for a message or document and is therefore globally unique. Clients choose other ids, which may occur in any
 * thread: search for those only in the threads of the source.
 */
export const isSure = (id: string): boolean => made.test(id)

const ours = /^(acct|agent|att|conv|doc|msg|prj|user)_/
/** Ids of which an item of the long-term store must name one, if only its words or chosen ids match the source. */
const tiesOf = ({
  project,
  conversation,
  threads,
}: Pick<ThreadSearch, 'project' | 'conversation' | 'threads'>): string[] => [
  project,
  // A thread may have the id of its own conversation, but not another id in our format.
  ...threads.filter((thread) => (conversation !== null && thread === shownId(conversation)) || !ours.test(thread)),
]
export const remembered = (source: ThreadSearch): Remembered => ({
  sure: [source.id].filter(isSure),
  ids: idsOf(source),
  texts: source.texts,
  ties: tiesOf(source),
})
/** Combines sources with the same ties into one search. */
export function together(all: readonly Remembered[]): Remembered[] {
  const groups = Map.groupBy(all, ({ ties }) => JSON.stringify(ties))
  return [...groups.values()].map((group) => ({
    sure: group.flatMap(({ sure }) => sure),
    ids: group.flatMap(({ ids }) => ids),
    texts: group.flatMap(({ texts }) => texts),
    ties: group[0]?.ties ?? [],
  }))
}

/** The projects that own the threads: those with a conversation that lists it, otherwise those with a pointer to it. Others are omitted. */
export async function projectsOf(tx: Transaction, threads: readonly string[]): Promise<Map<string, Set<string>>> {
  const projects = new Map<string, Set<string>>()
  if (threads.length === 0) return projects
  for (const { thread, project } of await projectsOfThreads(tx, { threads }))
    projects.set(thread, (projects.get(thread) ?? new Set()).add(project))
  return projects
}
