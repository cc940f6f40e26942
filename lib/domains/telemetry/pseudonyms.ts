import { createHmac, randomBytes } from 'node:crypto'
import { seal, unseal } from '#lib/config/secret.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { type EventSubject, pseudonymKeyRetention } from './rules.ts'

type Somebody = NonNullable<EventSubject>
/** The pseudonym of an event's subject: derived only from the key, so that it cannot be linked after the key is destroyed. */
export const pseudonymUnder = (key: Uint8Array): string =>
  createHmac('sha256', key).update('knowledgepulse telemetry').digest('base64url')

/** Opens the sealed key of a row. */
export const decryptedKey = (installationKey: Uint8Array, id: string, sealed: Uint8Array): Buffer =>
  unseal(installationKey, sealed, id)

// Restriction includes objection (GDPR art. 21) and withdrawn consent. An agent is also covered by its owner's
// restriction.
const mayBeTold = {
  account: 'SELECT 1 FROM account_states a WHERE a.id = $1 AND a.restricted_at IS NULL AND a.suspended_at IS NULL',
  agent: `SELECT 1 FROM agent_states a LEFT JOIN account_states o ON o.id = a.owner_id
    WHERE a.id = $1 AND (a.region IS NULL OR a.region = ANY($2::text[])) AND a.restricted_at IS NULL AND a.suspended_at IS NULL AND a.status <> 'dead'
      AND o.restricted_at IS NULL AND o.suspended_at IS NULL`,
}

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
    const [told] = await db.query(`telemetry-may-${kind}`, mayBeTold[kind], kind === 'agent' ? [id, regions] : [id])
    if (!told) return undefined
    const known = () =>
      db.query<{ sealed: Buffer }>(
        'telemetry-key',
        'SELECT sealed FROM telemetry_keys WHERE kind = $1 AND id = $2 AND expires_at > $3',
        [kind, id, now],
      )
    let [row] = await known()
    if (!row) {
      await db.query(
        'telemetry-new-key',
        `INSERT INTO telemetry_keys AS k (kind, id, sealed, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (kind, id) DO UPDATE SET sealed = excluded.sealed, created_at = excluded.created_at, expires_at = excluded.expires_at
         WHERE k.expires_at <= $4`,
        [kind, id, seal(key(), randomBytes(32), id), now, new Date(now.getTime() + pseudonymKeyRetention)],
      )
      // Of two concurrent inserts, both use the key that was stored.
      ;[row] = await known()
    }
    return row && pseudonymUnder(decryptedKey(key(), id, row.sealed))
  },
})
