import { type ClientBase, escapeIdentifier } from 'pg'
import { deriveKey, seal, unsealed } from '#lib/config/secret.ts'

/** A column that is sealed with the installation's secret. The domain that owns the table declares it. */
export interface SealedColumn {
  table: string
  /** The row's id, which is the context of the seal. */
  id: string
  column: string
  purpose: string
}

/** Seals values of the column in versions that legal holds preserve. A value that no secret opens remains, like its row. */
async function resealHeldVersions(
  client: ClientBase,
  { table, id, column }: Pick<SealedColumn, 'table' | 'id' | 'column'>,
  { present, former }: { present: Uint8Array; former: readonly Uint8Array[] },
): Promise<void> {
  const { rows } = await client.query<{ version: string; id: string; sealed: string }>(
    'SELECT id AS version, content->>$2 AS id, content->>$3 AS sealed FROM held_versions WHERE table_name = $1 AND content->>$3 IS NOT NULL',
    [table, id, column],
  )
  for (const row of rows) {
    const value = Buffer.from(row.sealed.slice(2), 'hex')
    const plain = former.map((key) => unsealed(key, value, row.id)).find((one) => one !== undefined)
    if (plain)
      await client.query(
        'UPDATE held_versions SET content = jsonb_set(content, ARRAY[$2], to_jsonb($3::text)) WHERE id = $1',
        [row.version, column, `\\x${seal(present, plain, row.id).toString('hex')}`],
      )
  }
}

/**
 * Seals the values of a column with the secret `to` that a secret of `from` opens. `keep` receives each new value before the row changes.
 * Returns how many values were sealed, and how many neither secret opens.
 */
export async function resealColumn(
  client: ClientBase,
  { table, id, column, purpose }: SealedColumn,
  {
    from,
    to,
    keep = async () => {},
  }: { from: readonly string[]; to: string; keep?: (id: string, sealed: Buffer) => Promise<void> },
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
  for (const { id: keyId, sealed } of renewed) await keep(keyId, sealed)
  await client.query(
    `UPDATE ${name} SET ${value} = renewed.sealed
     FROM unnest($1::text[], $2::bytea[]) AS renewed (id, sealed) WHERE ${name}.${key} = renewed.id`,
    [renewed.map((row) => row.id), renewed.map((row) => row.sealed)],
  )
  await resealHeldVersions(client, { table, id, column }, { present, former })
  return { sealed: renewed.length, lost }
}
