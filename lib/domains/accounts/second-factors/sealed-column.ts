import { sealedPurposes } from '#lib/config/secret.ts'
import type { SealedColumn } from '#lib/stores/postgres/sealed-column.ts'

export const sealedTotpSecrets: SealedColumn = {
  table: 'account_factors',
  id: 'id',
  column: 'totp_secret',
  purpose: sealedPurposes.totpSecrets,
}
