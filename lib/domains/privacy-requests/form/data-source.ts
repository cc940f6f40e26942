import { addressesOf } from '#lib/domains/privacy-requests/data-source.ts'
import type { DataSource } from '#lib/kernel/data-source.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { countRemainingForms, deleteUnconfirmed, inventoryOfUnconfirmed, unconfirmedOf } from './repository.ts'

/**
 * What people sent through the request form, for a day. A confirmed form becomes a privacy request, which an erasure does not delete
 * entirely.
 */
export const formDataSource = (deps: Parameters<typeof addressesOf>[0] & { db: Database }): DataSource => ({
  name: 'privacy.forms',
  store: 'postgresql',
  stage: 'account',
  what: 'privacy request forms: times, a keyed hash of the address, and the sealed content until it is confirmed by email',
  purpose: 'to process a request only after its address is confirmed',
  kept: '24 hours',
  basis: 'legal obligation (GDPR art. 6(1)(c) with art. 12(6))',
  tables: ['unconfirmed_requests'],
  async inventory({ account }) {
    const [row] = await inventoryOfUnconfirmed(deps.db, { addresses: await addressesOf(deps, account) })
    return { count: row?.n ?? 0, since: row?.since ?? null, until: null }
  },
  async plan(scope, tx) {
    const account = 'subject' in scope ? scope.subject.account : null
    const rows = await unconfirmedOf(tx, { addresses: await addressesOf(deps, account, tx) })
    return { items: rows.map(({ id }) => id), held: {} }
  },
  async erase(_scope, ids, tx) {
    await deleteUnconfirmed(tx, { ids })
    return ids.length
  },
  async residue(_scope, items) {
    const [row] = await countRemainingForms(deps.db, { items })
    return row?.n ?? 0
  },
})
