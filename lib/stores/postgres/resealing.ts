import { type ClientBase, escapeIdentifier } from 'pg'
import {
  deriveKey,
  seal,
  sealedPurposes,
  secretMark,
  subjectHash,
  subjectPurpose,
  unsealed,
} from '#lib/config/secret.ts'
import { SecretRecord, secretRecordName } from './secret-record.ts'

export interface SealedColumn {
  table: string
  /** The row's id, which is the context of the seal. */
  id: string
  column: string
  purpose: string
}
/** Every column that is sealed with the installation's secret. A test searches the live schema for others. */
export const sealedColumns: readonly SealedColumn[] = [
  { table: 'signing_keys', id: 'kid', column: 'sealed_private', purpose: sealedPurposes.signingKeys },
  { table: 'suppression_keys', id: 'id', column: 'sealed_key', purpose: sealedPurposes.suppressionKeys },
  { table: 'privacy_requests', id: 'id', column: 'contact', purpose: sealedPurposes.privacyContacts },
  { table: 'grimoire_entries', id: 'id', column: 'sealed', purpose: sealedPurposes.grimoire },
  { table: 'clade_shares', id: 'id', column: 'sealed', purpose: sealedPurposes.clades },
  { table: 'llm_log_entries', id: 'id', column: 'sealed', purpose: sealedPurposes.llmLog },
  { table: 'telemetry_keys', id: 'id', column: 'sealed', purpose: sealedPurposes.telemetryKeys },
]

export interface Resealed {
  /** How many values were opened with a former secret and sealed with the present one. */
  sealed: number
  /** How many values neither secret opens, by table. */
  lost: Record<string, number>
}
/** Appends a suppression key, sealed with the new secret, to the ledger, which has it under the old one. */
export type KeptKey = (id: string, sealed: Buffer) => Promise<void>

export async function secretRecord(client: ClientBase): Promise<SecretRecord | undefined> {
  const { rows } = await client.query<{ value: unknown }>('SELECT value FROM settings WHERE name = $1', [
    secretRecordName,
  ])
  return rows[0] && SecretRecord.parse(rows[0].value)
}

async function resealColumn(
  client: ClientBase,
  { table, id, column, purpose }: SealedColumn,
  from: readonly string[],
  to: string,
  keep: KeptKey,
): Promise<{ sealed: number; lost: number }> {
  const [name, key, value] = [table, id, column].map(escapeIdentifier)
  const { rows } = await client.query<{ id: string; sealed: Buffer }>(
    `SELECT ${key} AS id, ${value} AS sealed FROM ${name} WHERE ${value} IS NOT NULL ORDER BY 1`,
  )
  const present = deriveKey(to, purpose)
  const former = from.map((secret) => deriveKey(secret, purpose))
  const renewed: { id: string; sealed: Buffer }[] = []
  let lost = 0
  for (const row of rows) {
    if (unsealed(present, row.sealed, row.id)) continue
    const plain = former.map((one) => unsealed(one, row.sealed, row.id)).find((one) => one !== undefined)
    if (plain) renewed.push({ id: row.id, sealed: seal(present, plain, row.id) })
    else lost++
  }
  if (table === 'suppression_keys') for (const { id: keyId, sealed } of renewed) await keep(keyId, sealed)
  await client.query(
    `UPDATE ${name} SET ${value} = renewed.sealed
     FROM unnest($1::text[], $2::bytea[]) AS renewed (id, sealed) WHERE ${name}.${key} = renewed.id`,
    [renewed.map((row) => row.id), renewed.map((row) => row.sealed)],
  )
  return { sealed: renewed.length, lost }
}

/**
 * Privacy requests are found by their subject's hash. It is recomputed if the subject is still known; otherwise the old hash remains and
 * no longer matches.
 */
async function rehashSubjects(client: ClientBase, to: string): Promise<void> {
  const { rows } = await client.query<{ id: string; kind: 'account' | 'agent'; subject: string }>(
    `SELECT id, CASE WHEN account_id IS NULL THEN 'agent' ELSE 'account' END AS kind, coalesce(account_id, agent_id) AS subject
     FROM privacy_requests WHERE account_id IS NOT NULL OR agent_id IS NOT NULL`,
  )
  const key = deriveKey(to, subjectPurpose)
  await client.query(
    `UPDATE privacy_requests SET subject_key = hashed.subject_key
     FROM unnest($1::text[], $2::text[]) AS hashed (id, subject_key)
     WHERE privacy_requests.id = hashed.id AND privacy_requests.subject_key <> hashed.subject_key`,
    [rows.map(({ id }) => id), rows.map(({ kind, subject }) => subjectHash(key, kind, subject))],
  )
}

/**
 * Seals with `to` everything that a secret of `from` opens, and records `to` as the present secret, in one transaction. Safe to repeat.
 * `before` runs before the commit.
 */
export async function reseal(
  client: ClientBase,
  { from, to, keep, before }: { from: readonly string[]; to: string; keep: KeptKey; before?: () => void },
): Promise<Resealed> {
  await client.query('BEGIN')
  try {
    await client.query(
      `LOCK TABLE settings, ${sealedColumns.map(({ table }) => escapeIdentifier(table)).join(', ')} IN SHARE ROW EXCLUSIVE MODE`,
    )
    const known = await secretRecord(client)
    const made: Resealed = { sealed: 0, lost: {} }
    for (const column of sealedColumns) {
      const { sealed, lost } = await resealColumn(client, column, from, to, keep)
      made.sealed += sealed
      if (lost > 0) made.lost[column.table] = lost
    }
    await rehashSubjects(client, to)
    const mark = secretMark(to)
    const former = new Set([...(known?.former ?? []), ...from.map(secretMark)])
    former.delete(mark)
    const record: SecretRecord = { mark, former: [...former] }
    await client.query(
      `INSERT INTO settings (name, value, updated_at, updated_by) VALUES ($1, $2, $3, 'system:secret')
       ON CONFLICT (name) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at, updated_by = excluded.updated_by`,
      [secretRecordName, JSON.stringify(record), new Date()],
    )
    before?.()
    await client.query('COMMIT')
    return made
  } catch (error) {
    await client.query('ROLLBACK')
    throw error
  }
}
