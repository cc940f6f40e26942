import { sealedPurposes } from '#lib/config/secret.ts'
import type { SealedColumn } from '#lib/stores/postgres/sealed-column.ts'

export const sealedEntries: SealedColumn = {
  table: 'grimoire_entries',
  id: 'id',
  column: 'sealed',
  purpose: sealedPurposes.grimoire,
}
