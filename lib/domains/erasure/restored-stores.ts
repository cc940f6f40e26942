import type { AuditRecord, Transaction } from '#lib/kernel/context.ts'
import { logFault } from '#lib/kernel/fault-log.ts'
import { type DataHolder, type ErasedWords, erasedOf, type ItemId, timeFor } from '#lib/kernel/holder.ts'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { ItemsRow, Ledger } from '#lib/stores/ledger/ledger.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { recordDeletion } from './deletion-log.ts'
import { type Committed, committedItems, wordsRow } from './ledger-history.ts'
import { type RunIntent, reason, requestedBy } from './reinstatement.ts'
import { kindOf, namedInLog, nameOf } from './run-names.ts'
import { nobody, type RunScope } from './run-rules.ts'
import type { RunWords } from './subject-erasures.ts'

export interface RestoredStoresParts {
  db: Database
  ledger: Ledger
  holders: readonly DataHolder[]
  /** Returns true when a current legal hold covers any of its data. No hold can be set before the transaction ends. */
  isHeld(tx: Transaction, intent: RunIntent): Promise<boolean>
  words: Pick<RunWords, 'read'>
  audit(tx: Transaction, ...records: readonly AuditRecord[]): Promise<void>
  now(): Date
}
/** An erasure whose items could not be confirmed as deleted: the store did not answer, or still has some of them. */
export interface Unsearched {
  receipt: string
  holder: string
}
export interface StoresAgain {
  /** Receipt ids of erasures for which a store had data again, which was erased. */
  erased: string[]
  unsearched: Unsearched[]
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
export function restoredStores({ db, ledger, holders, isHeld, words, audit, now }: RestoredStoresParts) {
  /** Returns the items that no other current record uses. */
  const own = (holder: DataHolder, items: readonly ItemId[]): Promise<ItemId[]> =>
    db.transaction(async (tx) => {
      const others = new Set((await holder.reused?.(items, tx, now())) ?? [])
      return items.filter((item) => !others.has(item))
    })

  /** Erases the items of a ledger row again. Returns the number of deleted records. */
  const eraseRow = (
    holder: DataHolder,
    items: readonly ItemId[],
    { intent }: Committed<RunIntent>,
    erasedWords: ErasedWords,
  ): Promise<number> =>
    db.transaction(async (tx) => {
      if (await isHeld(tx, intent)) return 0
      const at = now()
      const again = newId('run')
      const { count, results } = erasedOf(
        await holder.erase(nobodys, items, tx, {
          ...{ key: `${again}:${holder.name}:0`, redacts: false, round: 1, words: erasedWords, now: at },
        }),
      )
      await holder.forget?.(again)
      if (count === 0) return 0
      const { scope } = intent
      await recordDeletion(tx, {
        requestedBy,
        reason,
        scope: 'part' in scope ? namedInLog(scope) : { receipt: intent.id },
        results: { [holder.name]: count, ...results },
        now: at,
      })
      await audit(tx, {
        action: 'delete',
        actorId: requestedBy,
        resourceType: 'part' in scope ? kindOf(scope) : 'receipt',
        resourceId: 'part' in scope ? nameOf(scope) : intent.id,
        at,
        ip: '',
        details: { receipt: intent.id, holder: holder.name, again: count },
      })
      return count
    }, timeFor(holder))

  return async function eraseAgain(of: ReadonlyMap<string, Committed<RunIntent>>): Promise<StoresAgain> {
    const erased = new Set<string>()
    const unsearched = new Map<string, Unsearched>()
    const waiting = new Map<DataHolder, ItemsRow[]>()
    /** Encoded fingerprints by receipt; the last entry is complete. */
    const fingerprints = new Map<string, string>()
    const wordsOf = (ids: readonly string[]): ErasedWords =>
      words.read([...new Set(ids)].flatMap((id) => fingerprints.get(id) ?? []))

    async function searchRow(holder: DataHolder, row: ItemsRow): Promise<void> {
      const one = of.get(row.id)
      const items = await own(holder, row.items)
      const erasedWords = wordsOf([row.id])
      if (!one || items.length === 0 || (await holder.residue(nobodys, items, now(), erasedWords)) === 0) return
      if ((await eraseRow(holder, items, one, erasedWords)) > 0) erased.add(row.id)
      else if (await db.transaction((tx) => isHeld(tx, one.intent))) return
      if ((await holder.residue(nobodys, items, now(), erasedWords)) > 0)
        throw new Problem('unavailable', `${holder.name} still holds some of what was erased.`)
    }
    async function search(holder: DataHolder, rows: readonly ItemsRow[]): Promise<void> {
      try {
        const items = await own(
          holder,
          rows.flatMap((row) => row.items),
        )
        if (items.length === 0) return
        if ((await holder.residue(nobodys, items, now(), wordsOf(rows.map(({ id }) => id)))) === 0) return
        for (const row of rows) await searchRow(holder, row)
      } catch (error) {
        // An unavailable store must not block the others. The result tells the caller to repeat the replay.
        if (!Problem.is(error)) throw error
        logFault(error, { operationId: 'replayErasures', holder: holder.name })
        for (const { id } of rows) unsearched.set(`${id} ${holder.name}`, { receipt: id, holder: holder.name })
      }
    }

    for await (const row of committedItems(ledger, of)) {
      const [noted] = row.items
      if (row.holder === wordsRow && noted !== undefined) fingerprints.set(row.id, noted)
      const holder = holders.find(({ name, isShared }) => isShared && name === row.holder)
      if (!holder || row.items.length === 0) continue
      const rows = [...(waiting.get(holder) ?? []), row]
      const isFull = rows.reduce((sum, { items }) => sum + items.length, 0) >= mostSearched
      waiting.set(holder, isFull ? [] : rows)
      if (isFull) await search(holder, rows)
    }
    for (const [holder, rows] of waiting) if (rows.length > 0) await search(holder, rows)
    return { erased: [...erased], unsearched: [...unsearched.values()] }
  }
}
