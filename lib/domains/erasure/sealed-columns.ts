import { sealedPurposes } from '#lib/config/secret.ts'
import type { SealedColumn } from '#lib/stores/postgres/sealed-column.ts'

export const sealedSigningKeys: SealedColumn = {
  table: 'signing_keys',
  id: 'kid',
  column: 'sealed_private',
  purpose: sealedPurposes.signingKeys,
}
export const sealedSuppressionKeys: SealedColumn = {
  table: 'suppression_keys',
  id: 'id',
  column: 'sealed_key',
  purpose: sealedPurposes.suppressionKeys,
}
