import type { Transaction } from '#lib/kernel/context.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import { shownId } from '#lib/kernel/scoped-ids.ts'
import { writersOf } from '../legal-holds.ts'
import { othersOf } from '../provenance/shared-pointers.ts'
import type { Source, Sources, WholeContainer } from '../provenance/sources.ts'
import { lockConversationsOf, sourcesOfThreads, threadsListedElsewhere } from './repository.ts'
import { idsOf, refsOf, threadsOf } from './thread-search.ts'

/** Whether messages can be within the scope. */
export const isAbout = (scope: ErasureScope): boolean => 'part' in scope || 'subject' in scope
/** A repeated search after the run: the subject is no longer stored, so nothing can be planned. */
export const isNobody = (scope: ErasureScope): boolean =>
  'subject' in scope && writersOf(scope.subject).ids.length === 0

/** The sources of a scope, without pointers to messages of remaining sources: a false pointer must not erase messages of others. */
export async function* erasedSources(
  sources: Sources,
  scope: ErasureScope,
  tx: Transaction,
  now: Date,
  goes: ReadonlySet<string>,
): AsyncGenerator<Source[]> {
  for await (const batch of sources.of(scope, tx, now)) {
    const others = new Map<string, Set<string>>()
    for (const [project, own] of Map.groupBy(batch, (source) => source.project))
      others.set(project, await othersOf(tx, 'checkpoints', own.flatMap(refsOf), goes, now, project))
    yield batch.map((source) => ({
      ...source,
      pointers: source.pointers.filter(
        ({ store: of, ref }) =>
          of !== 'checkpoints' || ref === shownId(source.id) || !others.get(source.project)?.has(ref),
      ),
    }))
  }
}

export const conversationsOf = (wholes: readonly WholeContainer[]) =>
  wholes.flatMap(({ conversations }) => conversations)

/**
 * Of these threads, those shared with remaining records: a conversation that lists the thread, or a message or document with a pointer to
 * it. In a shared thread, only erased messages are removed. `conversations` and `sources` are being erased. Of two concurrent erasures, at
 * least one sees the other's mark or fence, so a thread that both erase does not remain.
 */
export async function threadsOfOthers(
  tx: Transaction,
  threads: readonly string[],
  going: { conversations: readonly string[]; sources(): Promise<ReadonlySet<string>> },
  now: Date,
): Promise<Set<string>> {
  if (threads.length === 0) return new Set()
  const listed = await threadsListedElsewhere(tx, { threads, conversations: going.conversations, now })
  const pointed = await sourcesOfThreads(tx, { threads, now })
  const goes = pointed.length === 0 ? new Set() : await going.sources()
  return new Set([
    ...listed.map(({ thread }) => thread),
    ...pointed.flatMap(({ thread, source }) => (goes.has(source) ? [] : [thread])),
  ])
}

/** Content of the scope in a thread that was planned for complete deletion but is shared with remaining records. */
interface InThread {
  ids: string[]
  texts: string[]
}

/**
 * Of threads planned for complete deletion, those that remaining records now share, with the content of the scope in them. Locks their
 * conversations, so that no message is added until the transaction ends.
 */
export async function erasedInSharedThreads(
  sources: Sources,
  scope: ErasureScope,
  threads: readonly string[],
  tx: Transaction,
  now: Date,
): Promise<Map<string, InThread>> {
  if (threads.length === 0) return new Map()
  await lockConversationsOf(tx, { threads })
  const conversations = conversationsOf(await sources.whole(scope, tx, now))
  const ids = () => sources.ids(scope, tx, now)
  const kept = await threadsOfOthers(tx, threads, { conversations, sources: ids }, now)
  const found = new Map([...kept].map((thread): [string, InThread] => [thread, { ids: [], texts: [] }]))
  if (kept.size === 0) return found
  for await (const batch of erasedSources(sources, scope, tx, now, await ids()))
    for (const source of batch)
      for (const thread of threadsOf(source)) {
        found.get(thread)?.ids.push(...idsOf(source))
        found.get(thread)?.texts.push(...source.texts)
      }
  return found
}
