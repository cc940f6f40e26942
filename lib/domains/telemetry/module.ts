import type { PersonalData } from '#lib/kernel/module.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { Telemetry } from './capture.ts'
import { telemetryKeyDataSource } from './data-source.ts'
import { telemetryEvidence } from './evidence.ts'
import { telemetryExporters, telemetryPersonExporters } from './exporters.ts'
import { telemetryJobs } from './jobs.ts'
import { telemetryService } from './service.ts'

export interface TelemetryDeps {
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

/** Anonymous usage events. */
export const telemetryModule = ({ db, telemetry, to }: TelemetryDeps) => ({
  useCases: { telemetry: telemetryService({ to }) },
  jobs: telemetryJobs({ db, telemetry }),
  checks: telemetryEvidence(),
})
