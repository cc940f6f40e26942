import type { Clock } from '#lib/kernel/clock.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import { exportFilesDataSource, exportRunsDataSource, type RecordedPorts } from './data-sources.ts'
import { exportsEvidence } from './evidence.ts'
import type { ExportPorts } from './export.ts'
import { exportExporters } from './exporters.ts'
import type { ImportPorts } from './import-run.ts'
import type { InventoryPorts } from './inventory.ts'
import { exportJobs } from './jobs.ts'
import { exportPersonExporters } from './person-exporters.ts'
import { type PreparationPorts, preparation } from './preparation.ts'
import type { PreparedPorts } from './prepared.ts'
import { exportsService } from './service.ts'
import { exportUpkeep } from './upkeep.ts'

export interface ExportsDeps extends ExportPorts, ImportPorts, InventoryPorts, PreparationPorts {}

export const exportsData = (deps: PreparedPorts & RecordedPorts & { clock: Clock }): PersonalData => ({
  dataSources: [exportFilesDataSource(deps), exportRunsDataSource(deps.db)],
  exporters: exportExporters(deps.db),
  personExporters: exportPersonExporters(deps.db),
})

/** Exports, imports and the inventory. */
export const exportsModule = (deps: ExportsDeps) => ({
  useCases: { exports: exportsService(deps) },
  jobs: exportJobs(preparation(deps), exportUpkeep(deps)),
  checks: exportsEvidence(),
})
