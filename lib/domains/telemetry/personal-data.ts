import { createHmac, randomBytes } from 'node:crypto'
import { seal, unseal } from '#lib/config/secret.ts'
import type { DataSource } from '#lib/kernel/data-source.ts'
import type { Exporter, ExportPage, PersonExporter } from '#lib/kernel/exporter.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { chunked, holdingOf, sumRemaining } from '#lib/stores/postgres/personal-tables.ts'
import { type EventSubject, pseudonymKeyRetention } from './capture.ts'
import {
  countRemainingItems,
  countRemainingKeys,
  currentKey,
  deleteKeyItems,
  exportedKey,
  keyInventory,
  keyItems,
  storeKey,
  trackableAccount,
  trackableAgent,
} from './repository.ts'

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

type Somebody = NonNullable<EventSubject>
/** The pseudonym of an event's subject: derived only from the key, so that it cannot be linked after the key is destroyed. */
export const pseudonymUnder = (key: Uint8Array): string =>
  createHmac('sha256', key).update('knowledgepulse telemetry').digest('base64url')

/** Opens the sealed key of a row. */
const decryptedKey = (installationKey: Uint8Array, id: string, sealed: Uint8Array): Buffer =>
  unseal(installationKey, sealed, id)

/** Pseudonyms that change every 30 days. `regions`: those that events are stored in. Agents of other regions are not tracked. */
export const telemetryPseudonyms = ({
  db,
  key,
  regions,
}: {
  db: Database
  key(): Uint8Array
  regions: readonly string[]
}) => ({
  /** Undefined for a subject that may not be tracked. @throws Problem `fenced` or `erased` during or after an erasure */
  async of({ kind, id }: Somebody, now: Date): Promise<string | undefined> {
    const [trackable] =
      kind === 'agent' ? await trackableAgent(db, { id, regions }) : await trackableAccount(db, { id })
    if (!trackable) return undefined
    const known = () => currentKey(db, { kind, id, now })
    let [row] = await known()
    if (!row) {
      const expiresAt = new Date(now.getTime() + pseudonymKeyRetention)
      await storeKey(db, { kind, id, sealed: seal(key(), randomBytes(32), id), now, expiresAt })
      // Of two concurrent inserts, both use the key that was stored.
      ;[row] = await known()
    }
    return row && pseudonymUnder(decryptedKey(key(), id, row.sealed))
  },
})

/** The current pseudonym of a subject. The key is not exported, because it could generate the pseudonym. */
const exporter = (
  db: Database,
  key: () => Uint8Array,
  kind: NonNullable<EventSubject>['kind'],
): Exporter & PersonExporter => ({
  part: 'telemetry',
  bases: ['all'],
  tables: ['telemetry_keys'],
  async *pages(id: string, { until }): AsyncGenerator<ExportPage> {
    const [row] = await exportedKey(db, { kind, id, until })
    if (!row) return
    yield {
      lines: JSON.stringify({
        pseudonym: pseudonymUnder(decryptedKey(key(), id, row.sealed)),
        since: row.created_at.toISOString(),
        until: row.expires_at.toISOString(),
      }),
      count: 1,
    }
  },
})

export const telemetryExporters = (db: Database, key: () => Uint8Array): Exporter[] => [exporter(db, key, 'agent')]
export const telemetryPersonExporters = (db: Database, key: () => Uint8Array): PersonExporter[] => [
  exporter(db, key, 'account'),
]
