import { sealedPurposes } from '#lib/config/secret.ts'
import type { SealedColumn } from '#lib/stores/postgres/sealed-column.ts'

export const sealedExchanges: SealedColumn = {
  table: 'llm_log_entries',
  id: 'id',
  column: 'sealed',
  purpose: sealedPurposes.llmLog,
}
