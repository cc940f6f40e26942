import { sealedPurposes } from '#lib/config/secret.ts'
import type { SealedColumn } from '#lib/stores/postgres/sealed-column.ts'

export const sealedTelemetryKeys: SealedColumn = {
  table: 'telemetry_keys',
  id: 'id',
  column: 'sealed',
  purpose: sealedPurposes.telemetryKeys,
}
