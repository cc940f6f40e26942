import type { DataSource } from '#lib/kernel/data-source.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { receiptsOfOwners, receiptsWithOwner } from './repository.ts'

/**
 * The former owners on receipts of erased units and skills. When the owner is erased, the receipt remains without the
 * owner.
 * An item is a receipt's id, which grants read access to the receipt. The ledger stores it beside that receipt.
 */
export const formerOwnerDataSource = (db: Database): DataSource => ({
  name: 'erasure.owners',
  store: 'postgresql',
  stage: 'agent',
  what: 'the owners of units and skills that were erased earlier; the receipts remain without the owner',
  held: 'ownership of receipts: who owned the units and skills that the receipt reports as erased',
  purpose: 'to give owners the receipts of the data that they erased',
  kept: 'until the owner is erased; the receipt itself for seven years',
  basis: 'legal obligation (GDPR art. 6(1)(c), with art. 5(2)): proof of what was erased',
  // The receipts themselves are listed as retained records.
  tables: [],
  async inventory({ agents }) {
    const [row] = await receiptsOfOwners(db, { agents })
    return { count: row?.count ?? 0, since: row?.since ?? null, until: null }
  },
  async plan(scope, tx) {
    if (!('subject' in scope)) return { items: [], held: {} }
    const records = await tx.erasure.findMany({
      where: { formerOwner: { in: [...scope.subject.agents] } },
      select: { receiptId: true },
    })
    return { items: records.map(({ receiptId }) => receiptId).sort(), held: {} }
  },
  erase: async (_scope, items, tx) =>
    (await tx.erasure.updateMany({ where: { receiptId: { in: [...items] } }, data: { formerOwner: null } })).count,
  async residue(scope, items) {
    if (!('subject' in scope)) return 0
    const [row] = await receiptsWithOwner(db, { agents: scope.subject.agents, receipts: items })
    return row?.n ?? 0
  },
})
