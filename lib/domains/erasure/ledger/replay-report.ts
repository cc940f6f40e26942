import type { Transaction } from '#lib/kernel/context.ts'
import { type DataSource, type ErasedWords, erasedOf, type ItemId, timeFor } from '#lib/kernel/data-source.ts'
import type { RunState } from '#lib/kernel/erasure-run.ts'
import { logFault } from '#lib/kernel/fault-log.ts'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { ItemsRow } from '#lib/stores/ledger/ledger.ts'
import { withoutReused } from '../engine/recheck.ts'
import { nobody, type RunScope } from '../runs/run-rules.ts'
import { logRepeatedDeletion } from '../writes.ts'
import { type Committed, committedItems, fingerprintsRow } from './ledger-history.ts'
import { type ReplayDeps, type RunIntent, reason, requestedBy } from './reinstatement.ts'

/** An erasure whose items could not be confirmed as deleted: the store did not answer, or still has some of them. */
interface UnconfirmedErasure {
  receipt: string
  holder: string
}
interface StoresAgain {
  /** Receipt ids of erasures for which a store had data again, which was erased. */
  erased: string[]
  unsearched: UnconfirmedErasure[]
}

/** `isHeld`: whether a current legal hold covers any of the erased data. No hold can be set before the transaction ends. */
export type RestoredStores = Pick<ReplayDeps, 'db' | 'ledger' | 'dataSources' | 'audit' | 'now'> & {
  words: Pick<ReplayDeps['words'], 'read'>
  isHeld(tx: Transaction, intent: RunIntent): Promise<boolean>
}

/** Maximum number of items in one search, across erasures: a search may scan the whole store. */
const maxSearched = 2_000
const nobodys: RunScope = { subject: nobody }

/** Erases the items of a ledger row again. Returns the number of deleted records. */
const eraseRow = (
  { db, isHeld, audit, now }: RestoredStores,
  dataSource: DataSource,
  items: readonly ItemId[],
  { intent }: Committed<RunIntent>,
  { words, projects }: { words: ErasedWords; projects: readonly string[] },
): Promise<number> =>
  db.transaction(async (tx) => {
    if (await isHeld(tx, intent)) return 0
    const at = now()
    const again = newId('run')
    const options = { key: `${again}:${dataSource.name}:0`, redacts: false, round: 1, words, projects, now: at }
    const { count, results } = erasedOf(await dataSource.erase(nobodys, items, tx, options))
    await dataSource.forget?.(again)
    if (count > 0)
      await logRepeatedDeletion(tx, audit, {
        scope: intent.scope,
        receiptId: intent.id,
        actorId: requestedBy,
        reason,
        holder: dataSource.name,
        count,
        countedAs: 'again',
        results,
        at,
      })
    return count
  }, timeFor(dataSource))

/** The projects that the rows of each receipt name. */
async function namedProjects(
  { ledger, dataSources }: RestoredStores,
  of: ReadonlyMap<string, Committed<RunIntent>>,
): Promise<Map<string, Set<string>>> {
  const projects = new Map<string, Set<string>>()
  for await (const { id, holder, items } of committedItems(ledger, of)) {
    const source = dataSources.find(({ name, isShared }) => isShared && name === holder)
    for (const project of source?.projectsIn?.(items) ?? [])
      projects.set(id, (projects.get(id) ?? new Set()).add(project))
  }
  return projects
}

/** One replay: what it found, and the words of the erasures that it has read so far. */
function newSearch(deps: RestoredStores, of: ReadonlyMap<string, Committed<RunIntent>>) {
  const { db, isHeld, now } = deps
  const erased = new Set<string>()
  const unsearched = new Map<string, UnconfirmedErasure>()
  /** Encoded fingerprints by receipt; the last entry is complete. */
  const fingerprints = new Map<string, string>()
  let projectsRead: Promise<ReadonlyMap<string, ReadonlySet<string>>> | undefined
  /** The projects of each receipt. Only some of its rows name them, perhaps later ones, so all are read before the first erasure. */
  const projectsOf = async (receipt: string): Promise<string[]> => {
    projectsRead ??= namedProjects(deps, of)
    return [...((await projectsRead).get(receipt) ?? [])]
  }
  const residueOf = (
    dataSource: DataSource,
    items: readonly ItemId[],
    words: ErasedWords,
    of?: readonly string[],
  ): Promise<number> => (items.length === 0 ? Promise.resolve(0) : dataSource.residue(nobodys, items, now(), words, of))
  const wordsOf = (ids: readonly string[]): ErasedWords =>
    deps.words.read([...new Set(ids)].flatMap((id) => fingerprints.get(id) ?? []))
  const own = (dataSource: DataSource, items: readonly ItemId[]): Promise<ItemId[]> =>
    db.transaction((tx) => withoutReused(tx, dataSource, items, now()))

  async function searchRow(dataSource: DataSource, row: ItemsRow): Promise<void> {
    const one = of.get(row.id)
    const items = await own(dataSource, row.items)
    const known = { words: wordsOf([row.id]), projects: await projectsOf(row.id) }
    const isLeft = async () => (await residueOf(dataSource, items, known.words, known.projects)) > 0
    if (!one || !(await isLeft())) return
    if ((await eraseRow(deps, dataSource, items, one, known)) > 0) erased.add(row.id)
    else if (await db.transaction((tx) => isHeld(tx, one.intent))) return
    if (await isLeft()) throw new Problem('unavailable', `${dataSource.name} still has erased records.`)
  }

  return {
    addFingerprints: (receipt: string, encoded: string) => fingerprints.set(receipt, encoded),
    async search(dataSource: DataSource, rows: readonly ItemsRow[]): Promise<void> {
      try {
        const all = rows.flatMap((row) => row.items)
        const words = wordsOf(rows.map(({ id }) => id))
        if ((await residueOf(dataSource, await own(dataSource, all), words)) === 0) return
        for (const row of rows) await searchRow(dataSource, row)
      } catch (error) {
        // An unavailable store must not block the others. The result tells the caller to repeat the replay.
        if (!Problem.is(error)) throw error
        logFault(error, { operationId: 'replayErasures', holder: dataSource.name })
        for (const { id } of rows) unsearched.set(`${id} ${dataSource.name}`, { receipt: id, holder: dataSource.name })
      }
    },
    result: (): StoresAgain => ({ erased: [...erased], unsearched: [...unsearched.values()] }),
  }
}

/**
 * Erases again what the ledger lists as erased from stores that were restored separately: a bucket, a graph, another
 * database.
 * The rows that identified the data are deleted, so the search uses the items, like the second search. Items that
 * current records use, or that a hold covers, stay. Idempotent.
 */
export async function eraseFromRestoredStores(
  deps: RestoredStores,
  of: ReadonlyMap<string, Committed<RunIntent>>,
): Promise<StoresAgain> {
  const { ledger, dataSources } = deps
  const { addFingerprints, search, result } = newSearch(deps, of)
  const waiting = new Map<DataSource, ItemsRow[]>()
  for await (const row of committedItems(ledger, of)) {
    const [fingerprints] = row.items
    if (row.holder === fingerprintsRow && fingerprints !== undefined) addFingerprints(row.id, fingerprints)
    const dataSource = dataSources.find(({ name, isShared }) => isShared && name === row.holder)
    if (!dataSource || row.items.length === 0) continue
    const rows = [...(waiting.get(dataSource) ?? []), row]
    const isFull = rows.reduce((sum, { items }) => sum + items.length, 0) >= maxSearched
    waiting.set(dataSource, isFull ? [] : rows)
    if (isFull) await search(dataSource, rows)
  }
  for (const [dataSource, rows] of waiting) if (rows.length > 0) await search(dataSource, rows)
  return result()
}

export interface Replay {
  /** Number of erasures that the ledger lists as executed. */
  committed: number
  /** Units and skills that had come back and were erased again. */
  erased: number
  /** People and agents with data that had come back and was erased again. */
  subjects: number
  /** Parts of projects that had come back and were erased again. */
  parts: number
  /** Erasures for which only a connected store had data again; that data was erased. */
  stores: number
  /** Receipts that the restored database lacked and that were restored with their erased ids. */
  reinstated: number
  /**
   * Receipts and suppression keys of the database that the ledger lacks. More than 0 means that this ledger is
   * outdated, so erased data may have come back.
   */
  unknown: number
  /**
   * If lines are damaged: erasures that were started and whose end is neither in the ledger nor in the database. A
   * damaged line may have recorded it.
   */
  uncertain: number
  /** Number of ledger lines with a wrong checksum: cut short by a crash, or changed. */
  damaged: number
  /** Suppression keys that the restored database lacked. */
  keys: number
  /** Receipt ids of the repeated erasures. */
  receipts: string[]
  /** Not erased again, because the restored database lacks legal holds that covered data then. Set these holds again first. */
  refused: { receipt: string; holds: string[] }[]
  /** Runs that have not finished; the worker continues them. */
  unfinished: { receipt: string; run: string; state: RunState }[]
  /** Erasures for which a store did not answer or still has data. Repeat the replay; their receipts are not restored yet. */
  unsearched: UnconfirmedErasure[]
}
