import type { Transaction } from '#lib/kernel/context.ts'
import type { Part, Scope } from '#lib/kernel/holder.ts'
import type { CheckpointStore, FoundInThread } from '#lib/stores/checkpoints/checkpoints.ts'
import { queryWithin } from '#lib/stores/postgres/database.ts'
import type { Source, Sources } from '../sources.ts'
import { messageItem, wholeThread } from './items.ts'

/** What would become of one thread, and how that is known. */
export interface ThreadPlan {
  /** Null: the long-term store. */
  thread: string | null
  items: string[]
  isWhole: boolean
  /** It goes whole with what it belongs to, but others that stay have it too. */
  isShared: boolean
  isUnreadable: boolean
  messages: number
  /** pointer, thread, text, tools */
  found: string[]
}
/** The words and ids by which a source is found. */
type Sought = Pick<Source, 'id' | 'kind' | 'threads' | 'texts' | 'pointers'>

const partOf = (scope: Scope): Part | undefined => ('part' in scope ? scope.part : undefined)
const pointersOf = ({ pointers }: Sought) => pointers.filter(({ store }) => store === 'checkpoints')
const idsOf = (source: Sought): string[] => [source.id, ...pointersOf(source).map(({ ref }) => ref)]
const textsOf = (source: Sought): Set<string> => new Set(source.texts.map((text) => text.trim()))
const threadsOf = (source: Sought): string[] => [
  ...source.threads,
  ...pointersOf(source).flatMap(({ place }) => (place === '' ? [] : [place])),
]

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

/** Everything that a scope has in the checkpoints, thread by thread; a thread may come several times. `isAway`: of a store that cannot be asked. */
export function planning({ store, sources }: PlanningParts) {
  /** Threads in which ids stand, whoever's they are: all are looked for at once, because that reads everything there is. */
  async function threadsById(ids: readonly string[], tx: Transaction): Promise<Map<string, string[]>> {
    const threads = new Map<string, string[]>()
    for (const { thread, id } of await store.naming(ids, tx)) threads.set(id, [...(threads.get(id) ?? []), thread])
    return threads
  }

  async function* ofBatch(
    batch: readonly Sought[],
    wholes: ReadonlySet<string>,
    byId: ReadonlyMap<string, readonly string[]>,
    tx: Transaction,
  ): AsyncGenerator<ThreadPlan> {
    const byThread = new Map<string, Set<Sought>>()
    const put = (thread: string, source: Sought) => {
      if (!wholes.has(thread)) byThread.set(thread, (byThread.get(thread) ?? new Set()).add(source))
    }
    for (const source of batch) for (const thread of threadsOf(source)) put(thread, source)
    const present = new Set(await store.present([...byThread.keys()], tx))
    for (const source of batch)
      for (const thread of idsOf(source).flatMap((id) => byId.get(id) ?? [])) {
        present.add(thread)
        put(thread, source)
      }
    for (const [thread, asked] of [...byThread].sort(([a], [b]) => (a < b ? -1 : 1))) {
      if (!present.has(thread)) continue
      const own = [...asked]
      const found = await store.find(thread, { ids: own.flatMap(idsOf), texts: own.flatMap(({ texts }) => texts) }, tx)
      const { items, ways } = itemsFound(thread, found, own)
      if (items.size === 0) continue
      const { messages, isUnreadable } = found
      yield {
        thread,
        items: [...items],
        isWhole: false,
        isShared: false,
        isUnreadable,
        messages: messages.length,
        found: [...ways].sort(),
      }
    }
    if ((await store.memories({ ids: batch.flatMap(idsOf), texts: batch.flatMap(({ texts }) => texts) }, tx)) === 0)
      return
    for (const source of batch) {
      const held = await store.memories({ ids: idsOf(source), texts: source.texts }, tx)
      if (held > 0)
        yield {
          thread: null,
          items: [messageItem(null, source.id, null)],
          isWhole: false,
          isShared: false,
          isUnreadable: false,
          messages: held,
          found: ['text'],
        }
    }
  }

  /** What pointers and conversations say, of a store that cannot be asked: all of it counts as held there. */
  function* unasked(batch: readonly Sought[], wholes: ReadonlySet<string>): Generator<ThreadPlan> {
    for (const source of batch) {
      const items = threadsOf(source)
        .filter((thread) => !wholes.has(thread))
        .flatMap((thread) => idsOf(source).map((id) => ({ thread, item: messageItem(thread, id, source.id) })))
      for (const { thread, item } of items)
        yield {
          thread,
          items: [item],
          isWhole: false,
          isShared: false,
          isUnreadable: false,
          messages: 1,
          found: ['pointer'],
        }
    }
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
    const there = isAway ? [...wholes] : await store.present([...wholes], tx)
    for (const thread of there.toSorted())
      yield {
        thread,
        items: [wholeThread(thread)],
        isWhole: true,
        isShared: false,
        isUnreadable: false,
        messages: 0,
        found: ['thread'],
      }
    for (const thread of [...shared].sort())
      yield { thread, items: [], isWhole: false, isShared: true, isUnreadable: false, messages: 0, found: ['thread'] }
    if (isAway) {
      for await (const batch of sources.of(scope, tx, now)) yield* unasked(batch, wholes)
      return
    }
    const ids: string[] = []
    for await (const batch of sources.of(scope, tx, now)) ids.push(...batch.flatMap(idsOf))
    const byId = await threadsById(ids, tx)
    for await (const batch of sources.of(scope, tx, now)) yield* ofBatch(batch, wholes, byId, tx)
    if (ids.length > 0 || part?.kind !== 'message') return
    // Its row is gone: what was written back since is found by its id, and in its conversation's own thread.
    const gone: Sought = {
      kind: 'message',
      id: part.id,
      threads: part.conversation === null ? [] : [part.conversation],
      texts: [],
      pointers: [],
    }
    yield* ofBatch([gone], wholes, await threadsById([part.id], tx), tx)
  }
}
