import type { ClientBase } from 'pg'
import { deriveKey, sealedPurposes, secretFingerprint, subjectPurpose } from '#lib/config/secret.ts'
import { sealedTotpSecrets } from '#lib/domains/accounts/repository.ts'
import { sealedDocumentBodies, sealedDocumentTitles } from '#lib/domains/agents/life/document-seals.ts'
import { sealedProposals } from '#lib/domains/approvals/repository.ts'
import { sealedShares } from '#lib/domains/clades/repository.ts'
import { sealedSigningKeys, sealedSuppressionKeys } from '#lib/domains/erasure/repository.ts'
import { sealedEntries } from '#lib/domains/grimoire/repository.ts'
import { resealHeldVersions, type SealedVersionColumn } from '#lib/domains/holds/personal-data.ts'
import { sealedExchanges } from '#lib/domains/llm-log/repository.ts'
import {
  rehashAddresses,
  rehashSubjects,
  sealedContacts,
  sealedForms,
} from '#lib/domains/privacy-requests/form/jobs.ts'
import { secretRecord, secretRecordTable, storeSecretRecord } from '#lib/domains/settings/service.ts'
import { sealedTelemetryKeys } from '#lib/domains/telemetry/repository.ts'
import { resealColumn, type SealedColumn } from '#lib/stores/postgres/sealed-column.ts'
import { lockTables } from './repository.ts'

/** Every column that is sealed with the installation's secret. A test searches the live schema for others. */
export const sealedColumns: readonly SealedColumn[] = [
  sealedSigningKeys,
  sealedSuppressionKeys,
  sealedContacts,
  sealedForms,
  sealedEntries,
  sealedDocumentTitles,
  sealedDocumentBodies,
  sealedShares,
  sealedExchanges,
  sealedTelemetryKeys,
  sealedTotpSecrets,
  sealedProposals,
]

/** The sealed columns that versions under a legal hold contain, with the field in which exports show their text. */
export const sealedVersionColumns = (keyFor: (purpose: string) => () => Uint8Array): SealedVersionColumn[] =>
  [
    { ...sealedDocumentTitles, field: 'title' },
    { ...sealedDocumentBodies, field: 'body' },
    { ...sealedEntries, field: 'entry' },
    { ...sealedShares, field: 'entry' },
    { ...sealedExchanges, field: 'exchange' },
  ].map((column) => ({ ...column, key: keyFor(column.purpose) }))

export interface Resealed {
  /** How many values were opened with a former secret and sealed with the present one. */
  sealed: number
  /** How many values neither secret opens, by table. */
  lost: Record<string, number>
}
/** Appends a suppression key, sealed with the new secret, to the ledger, which has it under the old one. */
export type StoredKey = (id: string, sealed: Buffer) => Promise<void>

/**
 * Seals with `to` everything that a secret of `from` opens, and records `to` as the present secret, in one transaction. Safe to repeat.
 * `before` runs before the commit.
 */
export async function reseal(
  client: ClientBase,
  { from, to, keep, before }: { from: readonly string[]; to: string; keep: StoredKey; before?: () => void },
): Promise<Resealed> {
  await client.query('BEGIN')
  try {
    await lockTables(client, {}, [secretRecordTable, ...sealedColumns.map(({ table }) => table)])
    const known = await secretRecord(client)
    const made: Resealed = { sealed: 0, lost: {} }
    for (const column of sealedColumns) {
      const { sealed, lost } = await resealColumn(client, column, {
        from,
        to,
        ...(column === sealedSuppressionKeys && { keep }),
      })
      await resealHeldVersions(client, column, { from, to })
      made.sealed += sealed
      if (lost > 0) made.lost[column.table] = lost
    }
    const subject = deriveKey(to, subjectPurpose)
    await rehashSubjects(client, subject)
    await rehashAddresses(client, {
      subject,
      contacts: deriveKey(to, sealedPurposes.privacyContacts),
      forms: deriveKey(to, sealedPurposes.privacyForms),
    })
    const mark = secretFingerprint(to)
    const former = new Set([...(known?.former ?? []), ...from.map(secretFingerprint)])
    former.delete(mark)
    await storeSecretRecord(client, { mark, former: [...former] }, new Date())
    before?.()
    await client.query('COMMIT')
    return made
  } catch (error) {
    await client.query('ROLLBACK')
    throw error
  }
}
