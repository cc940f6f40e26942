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
  return { sealed: renewed.length, lost }
}
