import { type EvidenceCheck, endsInTime } from '#lib/kernel/evidence.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { Telemetry } from './capture.ts'
import { telemetryJobs } from './jobs.ts'
import { telemetryExporters, telemetryKeyDataSource, telemetryPersonExporters } from './personal-data.ts'
import { telemetryService } from './service.ts'

interface TelemetryDeps {
  db: Database
  telemetry: Telemetry
  /** The recipient of the events. */
  to: { host: string; region: string | null } | undefined
}

export const telemetryData = (db: Database, key: () => Uint8Array): PersonalData => ({
  dataSources: [telemetryKeyDataSource(db)],
  exporters: telemetryExporters(db, key),
  personExporters: telemetryPersonExporters(db, key),
})

/** While a key exists, its events can be linked to a person. */
const telemetryEvidence = (): EvidenceCheck[] => [
  endsInTime('telemetry.keys', 'SELECT expires_at AS ends FROM telemetry_keys'),
]

/** Anonymous usage events. */
export const telemetryModule = ({ db, telemetry, to }: TelemetryDeps) => ({
  useCases: { telemetry: telemetryService({ to }) },
  jobs: telemetryJobs({ db, telemetry }),
  checks: telemetryEvidence(),
})
