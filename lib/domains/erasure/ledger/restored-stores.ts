import { recordDeletion } from '#lib/domains/erasure/deletion-log.ts'
import type { RunFingerprints } from '#lib/domains/erasure/engine/subject-erasures.ts'
import { namedInLog, scopeKindOf, scopeNameOf } from '#lib/domains/erasure/runs/run-names.ts'
import { nobody, type RunScope } from '#lib/domains/erasure/runs/run-rules.ts'
import type { AuditRecord, Transaction } from '#lib/kernel/context.ts'
import { type DataSource, type ErasedWords, type ItemId, timeFor } from '#lib/kernel/data-source.ts'
import { erasedOf } from '#lib/kernel/erased.ts'
import { logFault } from '#lib/kernel/fault-log.ts'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { ItemsRow, Ledger } from '#lib/stores/ledger/ledger.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { type Committed, committedItems, fingerprintsRow } from './ledger-history.ts'
import { type RunIntent, reason, requestedBy } from './reinstatement.ts'

export interface RestoredStoresDeps {
  db: Database
  ledger: Ledger
  dataSources: readonly DataSource[]
  /** Returns true when a current legal hold covers any of its data. No hold can be set before the transaction ends. */
  isHeld(tx: Transaction, intent: RunIntent): Promise<boolean>
  words: Pick<RunFingerprints, 'read'>
  audit(tx: Transaction, ...records: readonly AuditRecord[]): Promise<void>
  now(): Date
}
/** An erasure whose items could not be confirmed as deleted: the store did not answer, or still has some of them. */
export interface UnconfirmedErasure {
  receipt: string
  holder: string
}
export interface StoresAgain {
  /** Receipt ids of erasures for which a store had data again, which was erased. */
  erased: string[]
  unsearched: UnconfirmedErasure[]
}

/** Maximum number of items in one search, across erasures: a search may scan the whole store. */
const mostSearched = 2_000
const nobodys: RunScope = { subject: nobody }

/**
 * Erases again what the ledger lists as erased from stores that were restored separately: a bucket, a graph, another
 * database.
 * The rows that identified the data are deleted, so the search uses the items, like the second search. Items that
 * current records use, or that a hold covers, stay. Idempotent.
 */
export function restoredStores({ db, ledger, dataSources, isHeld, words, audit, now }: RestoredStoresDeps) {
  /** Returns the items that no other current record uses. */
  const own = (dataSource: DataSource, items: readonly ItemId[]): Promise<ItemId[]> =>
    db.transaction(async (tx) => {
      const others = new Set((await dataSource.reused?.(items, tx, now())) ?? [])
      return items.filter((item) => !others.has(item))
    })

  /** Erases the items of a ledger row again. Returns the number of deleted records. */
  const eraseRow = (
    dataSource: DataSource,
    items: readonly ItemId[],
    { intent }: Committed<RunIntent>,
    erasedWords: ErasedWords,
  ): Promise<number> =>
    db.transaction(async (tx) => {
      if (await isHeld(tx, intent)) return 0
      const at = now()
      const again = newId('run')
      const { count, results } = erasedOf(
        await dataSource.erase(nobodys, items, tx, {
          ...{ key: `${again}:${dataSource.name}:0`, redacts: false, round: 1, words: erasedWords, now: at },
        }),
      )
      await dataSource.forget?.(again)
      if (count === 0) return 0
      const { scope } = intent
      await recordDeletion(tx, {
        requestedBy,
        reason,
        scope: 'part' in scope ? namedInLog(scope) : { receipt: intent.id },
        results: { [dataSource.name]: count, ...results },
        now: at,
      })
      await audit(tx, {
        action: 'delete',
        actorId: requestedBy,
        resourceType: 'part' in scope ? scopeKindOf(scope) : 'receipt',
        resourceId: 'part' in scope ? scopeNameOf(scope) : intent.id,
        at,
        ip: '',
        details: { receipt: intent.id, holder: dataSource.name, again: count },
      })
      return count
    }, timeFor(dataSource))

  return async function eraseAgain(of: ReadonlyMap<string, Committed<RunIntent>>): Promise<StoresAgain> {
    const erased = new Set<string>()
    const unsearched = new Map<string, UnconfirmedErasure>()
    const waiting = new Map<DataSource, ItemsRow[]>()
    /** Encoded fingerprints by receipt; the last entry is complete. */
    const fingerprints = new Map<string, string>()
    const wordsOf = (ids: readonly string[]): ErasedWords =>
      words.read([...new Set(ids)].flatMap((id) => fingerprints.get(id) ?? []))

    async function searchRow(dataSource: DataSource, row: ItemsRow): Promise<void> {
      const one = of.get(row.id)
      const items = await own(dataSource, row.items)
      const erasedWords = wordsOf([row.id])
      if (!one || items.length === 0 || (await dataSource.residue(nobodys, items, now(), erasedWords)) === 0) return
      if ((await eraseRow(dataSource, items, one, erasedWords)) > 0) erased.add(row.id)
      else if (await db.transaction((tx) => isHeld(tx, one.intent))) return
      if ((await dataSource.residue(nobodys, items, now(), erasedWords)) > 0)
        throw new Problem('unavailable', `${dataSource.name} still has erased records.`)
    }
    async function search(dataSource: DataSource, rows: readonly ItemsRow[]): Promise<void> {
      try {
        const items = await own(
          dataSource,
          rows.flatMap((row) => row.items),
        )
        if (items.length === 0) return
        if ((await dataSource.residue(nobodys, items, now(), wordsOf(rows.map(({ id }) => id)))) === 0) return
        for (const row of rows) await searchRow(dataSource, row)
      } catch (error) {
        // An unavailable store must not block the others. The result tells the caller to repeat the replay.
        if (!Problem.is(error)) throw error
        logFault(error, { operationId: 'replayErasures', holder: dataSource.name })
        for (const { id } of rows) unsearched.set(`${id} ${dataSource.name}`, { receipt: id, holder: dataSource.name })
      }
    }

    for await (const row of committedItems(ledger, of)) {
      const [noted] = row.items
      if (row.holder === fingerprintsRow && noted !== undefined) fingerprints.set(row.id, noted)
      const dataSource = dataSources.find(({ name, isShared }) => isShared && name === row.holder)
      if (!dataSource || row.items.length === 0) continue
      const rows = [...(waiting.get(dataSource) ?? []), row]
      const isFull = rows.reduce((sum, { items }) => sum + items.length, 0) >= mostSearched
      waiting.set(dataSource, isFull ? [] : rows)
      if (isFull) await search(dataSource, rows)
    }
    for (const [dataSource, rows] of waiting) if (rows.length > 0) await search(dataSource, rows)
    return { erased: [...erased], unsearched: [...unsearched.values()] }
  }
}
