import type { Transaction } from '#lib/kernel/context.ts'
import { shownId } from '#lib/kernel/scoped-ids.ts'
import type { Remembered } from '#lib/stores/checkpoints/checkpoints.ts'
import { queryWithin } from '#lib/stores/postgres/database.ts'
import type { Source } from '../sources.ts'

/** The words and ids by which a source is found, and what it belongs to. */
export type Sought = Pick<Source, 'id' | 'kind' | 'project' | 'conversation' | 'threads' | 'texts' | 'pointers'>

const pointersOf = ({ pointers }: Pick<Sought, 'pointers'>) => pointers.filter(({ store }) => store === 'checkpoints')
/** Ids that pointers name beside its own. */
export const refsOf = (source: Sought): string[] =>
  pointersOf(source).flatMap(({ ref }) => (ref === shownId(source.id) ? [] : [ref]))
/** Ids that provenance reports, of messages that may be the application's own. */
export const reportedOf = (sources: readonly Sought[]): Set<string> => new Set(sources.flatMap(refsOf))
/** Ids by which threads know it. */
export const idsOf = (source: Sought): string[] => [...new Set([shownId(source.id), ...refsOf(source)])]
export const textsOf = (source: Sought): Set<string> => new Set(source.texts.map((text) => text.trim()))
/** Threads of its conversation, and those in which somebody of its project says that it stands. */
export const threadsOf = (source: Sought): string[] => [
  ...new Set([...source.threads, ...pointersOf(source).flatMap(({ place }) => (place === '' ? [] : [place]))]),
]

const made = /^(msg|doc)_[0-9A-Za-z]{22}$/
/**
 * Whether an id is a message's or document's and nothing else in the world. Other ids are their clients' to choose, who may choose what
 * stands in everybody's threads: by these one searches in the threads of the source alone.
 */
export const isSure = (id: string): boolean => made.test(id)

const ours = /^(acct|agent|att|conv|doc|msg|prj|user)_/
/** What an item of the long-term store has to name, too, to be about the source whose words or chosen ids it holds. */
const tiesOf = ({ project, conversation, threads }: Pick<Sought, 'project' | 'conversation' | 'threads'>): string[] => [
  project,
  // A thread may be called as its conversation's writer likes, but as nothing else of ours is called.
  ...threads.filter((thread) => (conversation !== null && thread === shownId(conversation)) || !ours.test(thread)),
]
export const remembered = (source: Sought): Remembered => ({
  sure: [source.id].filter(isSure),
  ids: idsOf(source),
  texts: source.texts,
  ties: tiesOf(source),
})
/** At once what belongs together. */
export function together(all: readonly Remembered[]): Remembered[] {
  const groups = Map.groupBy(all, ({ ties }) => JSON.stringify(ties))
  return [...groups.values()].map((group) => ({
    sure: group.flatMap(({ sure }) => sure),
    ids: group.flatMap(({ ids }) => ids),
    texts: group.flatMap(({ texts }) => texts),
    ties: group[0]?.ties ?? [],
  }))
}

/** The projects whose threads these are: whose conversation has one, and else whose pointers name it. Nobody's are not in it. */
export async function projectsOf(tx: Transaction, threads: readonly string[]): Promise<Map<string, Set<string>>> {
  const projects = new Map<string, Set<string>>()
  if (threads.length === 0) return projects
  const rows = await queryWithin<{ thread: string; project: string }>(
    tx,
    'checkpoints-projects',
    `WITH listed AS (SELECT DISTINCT thread, c.project_id AS project FROM conversations c, unnest(c.threads) thread
       WHERE c.threads && $1::text[] AND thread = ANY($1::text[]))
     SELECT thread, project FROM listed
     UNION ALL SELECT DISTINCT v.place, v.project_id FROM provenance v
       WHERE v.store = 'checkpoints' AND v.place = ANY($1::text[]) AND v.place NOT IN (SELECT thread FROM listed)`,
    [threads],
  )
  for (const { thread, project } of rows) projects.set(thread, (projects.get(thread) ?? new Set()).add(project))
  return projects
}
