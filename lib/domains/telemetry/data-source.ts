import type { DataSource } from '#lib/kernel/data-source.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { chunked, holdingOf, sumRemaining } from '#lib/stores/postgres/legal-hold-rows.ts'
import { countRemainingItems, countRemainingKeys, deleteKeyItems, keyInventory, keyItems } from './repository.ts'

/** Erased early: without the key, events cannot be linked to a subject. */
export const telemetryKeyDataSource = (db: Database): DataSource => ({
  name: 'telemetry.keys',
  store: 'postgresql',
  stage: 'derived',
  what: 'keys that link usage events to their subject; without its key, an event cannot be attributed to anyone',
  purpose: 'to measure how the service is used without identifying users',
  basis: 'legitimate interest (GDPR art. 6(1)(f)): understanding how the service is used; you can object',
  kept: 'for 30 days, then it is destroyed and replaced by a new one',
  tables: ['telemetry_keys'],
  inventory: async ({ account, agents }) => holdingOf(await keyInventory(db, { account, agents })),
  async plan(scope, tx) {
    if (!('subject' in scope)) return { items: [], held: {} }
    const { account, agents } = scope.subject
    const keys = await keyItems(tx, { account, agents })
    return { items: keys.map(({ item }) => item).sort(), held: {} }
  },
  erase: async (scope, items, tx) => ('subject' in scope ? deleteKeyItems(tx, { items }) : 0),
  residue: (scope, items) =>
    'subject' in scope
      ? sumRemaining(db, async function* (on) {
          const { account, agents } = scope.subject
          yield await countRemainingKeys(on, { account, agents })
          for (const chunk of chunked(items)) yield await countRemainingItems(on, { account, agents, items: chunk })
        })
      : Promise.resolve(0),
})
