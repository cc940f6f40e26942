import { sealedPurposes } from '#lib/config/secret.ts'
import type { SealedColumn } from '#lib/stores/postgres/sealed-column.ts'

export const sealedShares: SealedColumn = {
  table: 'clade_shares',
  id: 'id',
  column: 'sealed',
  purpose: sealedPurposes.clades,
}
