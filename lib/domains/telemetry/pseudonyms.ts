import { createHmac, randomBytes } from 'node:crypto'
import { seal, unseal } from '#lib/config/secret.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { currentKey, storeKey, trackableAccount, trackableAgent } from './repository.ts'
import { type EventSubject, pseudonymKeyRetention } from './rules.ts'

type Somebody = NonNullable<EventSubject>
/** The pseudonym of an event's subject: derived only from the key, so that it cannot be linked after the key is destroyed. */
export const pseudonymUnder = (key: Uint8Array): string =>
  createHmac('sha256', key).update('knowledgepulse telemetry').digest('base64url')

/** Opens the sealed key of a row. */
export const decryptedKey = (installationKey: Uint8Array, id: string, sealed: Uint8Array): Buffer =>
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
