import type { Transaction } from '#lib/kernel/context.ts'
import type { DataSource, ItemId } from '#lib/kernel/data-source.ts'
import { type Erased, erasedRows } from '#lib/kernel/erased.ts'
import type { ErasureScope, Subject } from '#lib/kernel/erasure-scope.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { snapshot } from '#lib/stores/postgres/snapshot.ts'
import {
  allowScans,
  countItemsWithContent,
  countOwn,
  countShowing,
  deleteOwn,
  inventoryOfResponses,
  responsesNaming,
  responsesToErase,
  withdrawItems,
} from './repository.ts'
import { replyRetention } from './rules.ts'

/** The stored responses that an erasure selects: those of a subject, and those that name a single unit or skill. */
interface SelectedResponses {
  agents: readonly string[]
  accounts: readonly string[]
  records: readonly string[]
}
const accountsOf = ({ account }: Subject): string[] => (account === null ? [] : [account])
const responsesOf = (subject: Subject): Omit<SelectedResponses, 'records'> => ({
  agents: subject.agents,
  accounts: accountsOf(subject),
})
function selectedResponses(scope: ErasureScope): SelectedResponses {
  if ('subject' in scope) return { ...responsesOf(scope.subject), records: [] }
  const record = 'unit' in scope ? scope.unit : 'skill' in scope ? scope.skill : undefined
  return { agents: [], accounts: [], records: record === undefined ? [] : [record] }
}
const isOfSubject = ({ agents, accounts }: SelectedResponses): boolean => agents.length + accounts.length > 0

/** Scopes and keys of items. A key is a hash and contains no colon. */
function pairsOf(items: readonly ItemId[]): { scopes: string[]; keys: string[] } {
  const cuts = items.map((item) => item.lastIndexOf(':'))
  return {
    scopes: items.map((item, index) => item.slice(0, cuts[index])),
    keys: items.map((item, index) => item.slice((cuts[index] ?? 0) + 1)),
  }
}

/**
 * Deletes the subject's own responses. Others' responses lose their content but stay as markers for the 24 hours, so that a late retry
 * does not repeat the operation. A requester of something else whose response named the record is not told of its erasure.
 */
async function erase(selected: SelectedResponses, items: readonly ItemId[], tx: Transaction): Promise<Erased> {
  const { agents, accounts, records } = selected
  const pairs = pairsOf(items)
  const deleted = isOfSubject(selected) ? await deleteOwn(tx, { ...pairs, agents, accounts }) : 0
  return erasedRows({ deleted, pseudonymized: await withdrawItems(tx, { ...pairs, agents, records }) })
}

/** Searches the content of responses, not the columns that {@link erase} uses, and responses that no plan listed. */
const residueOf = (db: Database, selected: SelectedResponses, items: readonly ItemId[]): Promise<number> =>
  snapshot(db, { enable_seqscan: 'off', jit: 'off' }, async (query) => {
    const { agents, accounts, records } = selected
    const counted = [
      ...(isOfSubject(selected) ? await countOwn(query, { agents, accounts }) : []),
      ...(items.length > 0 ? await countItemsWithContent(query, pairsOf(items)) : []),
    ]
    for (const id of records) counted.push(...(await countShowing(query, { id })))
    return counted.reduce((total, { n }) => total + n, 0)
  })

/**
 * Stored responses contain response content, such as a contributed unit or skill, and ids. A response that names erased data is not
 * retained.
 */
export const idempotencyDataSource = (db: Database): DataSource => ({
  name: 'idempotency.answers',
  store: 'postgresql',
  stage: 'derived',
  what: 'stored responses for repeated requests',
  purpose: 'returning the first response to a repeated request, so that nothing is done twice',
  kept: '24 hours',
  tables: ['idempotency_records'],
  async inventory(subject) {
    const [row] = await inventoryOfResponses(db, { ...responsesOf(subject), retention: replyRetention })
    return { count: row?.n ?? 0, since: row?.since ?? null, until: row?.until ?? null }
  },
  async plan(scope, tx) {
    const selected = selectedResponses(scope)
    const { agents, accounts, records } = selected
    const items: ItemId[] = []
    if (isOfSubject(selected)) {
      await allowScans(tx, {})
      items.push(...(await responsesToErase(tx, { agents, accounts })).map(({ id }) => id))
    }
    if (records.length > 0) items.push(...(await responsesNaming(tx, { ids: records })).map(({ id }) => id))
    return { items: items.sort(), held: {} }
  },
  erase: (scope, items, tx) => erase(selectedResponses(scope), items, tx),
  async residue(scope, items) {
    const selected = selectedResponses(scope)
    if (!isOfSubject(selected) && selected.records.length + items.length === 0) return 0
    return residueOf(db, selected, items)
  },
})
