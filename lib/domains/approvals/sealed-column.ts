import { sealedPurposes } from '#lib/config/secret.ts'
import type { SealedColumn } from '#lib/stores/postgres/sealed-column.ts'

export const sealedProposals: SealedColumn = {
  table: 'approval_proposals',
  id: 'id',
  column: 'content',
  purpose: sealedPurposes.proposals,
}
