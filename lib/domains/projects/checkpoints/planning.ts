import type { Transaction } from '#lib/kernel/context.ts'
import type { Part, Scope } from '#lib/kernel/holder.ts'
import type { CheckpointStore, FoundInThread } from '#lib/stores/checkpoints/checkpoints.ts'
import { queryWithin } from '#lib/stores/postgres/database.ts'
import type { Sources } from '../sources.ts'
import { messageItem, wholeThread } from './items.ts'
import { idsOf, isSure, projectsOf, remembered, type Sought, textsOf, threadsOf, together } from './sought.ts'

/** What would become of one thread, and how that is known. */
export interface ThreadPlan {
  /** Null: the long-term store. */
  thread: string | null
  items: string[]
  /** What to look for there, where nothing is yet. */
  watched: string[]
  isWhole: boolean
  /** It goes whole with what it belongs to, but others that stay have it too. */
  isShared: boolean
  isUnreadable: boolean
  messages: number
  /** pointer, thread, text, tools */
  found: string[]
}
const partOf = (scope: Scope): Part | undefined => ('part' in scope ? scope.part : undefined)

/** Threads that conversations name which stay: of those only the messages go that are erased themselves. */
async function sharedThreads(
  tx: Transaction,
  part: Part | undefined,
  threads: readonly string[],
): Promise<Set<string>> {
  const rows = await queryWithin<{ thread: string; n: number; beyond: number }>(
    tx,
    'checkpoints-shared',
    `SELECT thread, count(*)::int AS n, (count(*) FILTER (WHERE c.project_id <> $2))::int AS beyond
     FROM conversations c, unnest(c.threads) thread WHERE c.threads && $1::text[] AND thread = ANY($1::text[]) GROUP BY 1`,
    [threads, part?.project ?? ''],
  )
  const going = new Map<string, number>()
  for (const thread of threads) going.set(thread, (going.get(thread) ?? 0) + 1)
  const isShared = ({ thread, n, beyond }: { thread: string; n: number; beyond: number }) =>
    part?.kind === 'project' ? beyond > 0 : n > (going.get(thread) ?? 0)
  const shared = rows.filter(isShared).map(({ thread }) => thread)
  if (part?.kind === 'project') return new Set(shared)
  // Messages of other conversations of the project may have come to stand in it, too.
  const pointed = await queryWithin<{ thread: string }>(
    tx,
    'checkpoints-pointed',
    `SELECT DISTINCT v.place AS thread FROM provenance v JOIN messages m ON m.id = v.source_id
     JOIN conversations c ON c.project_id = v.project_id AND v.place = ANY(c.threads)
     WHERE v.store = 'checkpoints' AND v.place = ANY($1::text[]) AND m.conversation_id <> c.id`,
    [threads],
  )
  return new Set([...shared, ...pointed.map(({ thread }) => thread)])
}

/** Which items of a thread what was found in it makes, and of which source each came. */
function itemsFound(
  thread: string,
  found: FoundInThread,
  sources: readonly Sought[],
): { items: Set<string>; ways: Set<string> } {
  const items = new Set<string>()
  const ways = new Set<string>()
  const covered = new Set<Sought>()
  for (const { id, found: how, text } of found.messages) {
    const source = sources.find((one) =>
      how === 'id' ? id !== null && idsOf(one).includes(id) : text !== null && textsOf(one).has(text),
    )
    if (source) covered.add(source)
    if (id !== null || source) items.add(messageItem(thread, id ?? source?.id ?? '', source?.id ?? null))
    ways.add(how !== 'id' ? how : source && id === source.id ? 'thread' : 'pointer')
  }
  for (const source of sources) {
    if (covered.has(source)) continue
    const stands = [...idsOf(source), ...textsOf(source)].some((what) => found.standing.has(what))
    if (stands) ways.add('text')
    // Of a thread that cannot be read nobody knows what it holds: the step meets it, and says so.
    if (stands || found.isUnreadable) items.add(messageItem(thread, source.id, null))
  }
  return { items, ways }
}

export interface PlanningParts {
  store: CheckpointStore
  sources: Sources
}

const nothing = { items: [], watched: [], isWhole: false, isShared: false, isUnreadable: false, messages: 0, found: [] }

/** Everything that a scope has in the checkpoints, thread by thread; a thread may come several times. `isAway`: of a store that cannot be asked. */
export function planning({ store, sources }: PlanningParts) {
  /** Threads in which ids that we made stand: all are looked for at once, because that reads everything there is. */
  async function threadsById(ids: readonly string[], tx: Transaction): Promise<Map<string, string[]>> {
    const threads = new Map<string, string[]>()
    const sure = ids.filter(isSure)
    if (sure.length === 0) return threads
    for (const { thread, id } of await store.naming(sure, tx)) threads.set(id, [...(threads.get(id) ?? []), thread])
    return threads
  }

  /** Which threads a source is looked for in: never in one that is another project's, whoever says so. */
  async function threadsToSearch(
    batch: readonly Sought[],
    byId: ReadonlyMap<string, readonly string[]>,
    tx: Transaction,
  ): Promise<Map<string, Set<Sought>>> {
    const named = batch.map((source) => ({
      source,
      threads: new Set([...threadsOf(source), ...(byId.get(source.id) ?? [])]),
    }))
    const projects = await projectsOf(tx, [...new Set(named.flatMap(({ threads }) => [...threads]))])
    const searched = new Map<string, Set<Sought>>()
    for (const { source, threads } of named)
      for (const thread of threads) {
        const theirs = projects.get(thread)
        if (theirs && !theirs.has(source.project)) continue
        searched.set(thread, (searched.get(thread) ?? new Set()).add(source))
      }
    return searched
  }

  async function* ofBatch(
    batch: readonly Sought[],
    wholes: ReadonlySet<string>,
    byId: ReadonlyMap<string, readonly string[]>,
    tx: Transaction,
  ): AsyncGenerator<ThreadPlan> {
    const searched = await threadsToSearch(batch, byId, tx)
    const threads = [...searched.keys()].filter((thread) => !wholes.has(thread)).sort()
    const present = new Set(threads.length === 0 ? [] : await store.present(threads, tx))
    for (const thread of threads) {
      const own = [...(searched.get(thread) ?? [])]
      const watched = own.flatMap((source) => idsOf(source).map((id) => messageItem(thread, id, source.id)))
      if (!present.has(thread)) {
        yield { ...nothing, thread, watched }
        continue
      }
      const found = await store.find(thread, { ids: own.flatMap(idsOf), texts: own.flatMap(({ texts }) => texts) }, tx)
      const { items, ways } = itemsFound(thread, found, own)
      const { messages, isUnreadable } = found
      yield {
        ...nothing,
        thread,
        items: [...items],
        watched,
        isUnreadable,
        messages: messages.length,
        found: [...ways].sort(),
      }
    }
    const memories = batch.map(remembered)
    const ties = [...new Set(memories.flatMap((one) => one.ties))]
    // All at once, for each search reads the whole store; most find nothing.
    const [all] = together(memories.map((one) => ({ ...one, ties })))
    const isAny = all !== undefined && (await store.memories(all, tx)) > 0
    for (const source of batch) {
      const held = isAny ? await store.memories(remembered(source), tx) : 0
      const item = messageItem(null, source.id, null)
      if (held > 0) yield { ...nothing, thread: null, items: [item], messages: held, found: ['text'] }
      else yield { ...nothing, thread: null, watched: [item] }
    }
  }

  /** What pointers and conversations say, of a store that cannot be asked: all of it counts as held there. */
  async function* unasked(
    batch: readonly Sought[],
    wholes: ReadonlySet<string>,
    tx: Transaction,
  ): AsyncGenerator<ThreadPlan> {
    for (const [thread, own] of await threadsToSearch(batch, new Map(), tx))
      if (!wholes.has(thread))
        for (const source of own)
          for (const id of idsOf(source))
            yield {
              ...nothing,
              thread,
              items: [messageItem(thread, id, source.id)],
              messages: 1,
              found: ['pointer'],
            }
    for (const { id } of batch) yield { ...nothing, thread: null, watched: [messageItem(null, id, null)] }
  }

  return async function* planned(
    scope: Scope,
    tx: Transaction,
    now: Date,
    isAway: boolean,
  ): AsyncGenerator<ThreadPlan> {
    const part = partOf(scope)
    const named = (await sources.whole(scope, tx, now)).flatMap(({ threads }) => threads)
    const shared = named.length > 0 ? await sharedThreads(tx, part, named) : new Set<string>()
    const wholes = new Set(named.filter((thread) => !shared.has(thread)))
    const there = new Set(isAway || wholes.size === 0 ? wholes : await store.present([...wholes], tx))
    for (const thread of [...wholes].sort()) {
      const item = wholeThread(thread)
      if (there.has(thread)) yield { ...nothing, thread, items: [item], isWhole: true, found: ['thread'] }
      else yield { ...nothing, thread, watched: [item], isWhole: true }
    }
    for (const thread of [...shared].sort()) yield { ...nothing, thread, isShared: true, found: ['thread'] }
    if (isAway) {
      for await (const batch of sources.of(scope, tx, now)) yield* unasked(batch, wholes, tx)
      return
    }
    const ids: string[] = []
    for await (const batch of sources.of(scope, tx, now)) ids.push(...batch.map(({ id }) => id))
    const byId = await threadsById(ids, tx)
    for await (const batch of sources.of(scope, tx, now)) yield* ofBatch(batch, wholes, byId, tx)
    if (ids.length > 0 || part?.kind !== 'message') return
    // Its row is gone: what was written back since is found by its id, and in its conversation's own thread.
    const gone: Sought = {
      ...part,
      kind: 'message',
      threads: part.conversation === null ? [] : [part.conversation],
      texts: [],
      pointers: [],
    }
    yield* ofBatch([gone], wholes, await threadsById([part.id], tx), tx)
  }
}
