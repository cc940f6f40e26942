import type { EvidenceCheck } from '#lib/kernel/evidence.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { type CoverageDeps, coverageChecks, type InstallationCheckDeps, installationChecks } from './checks.ts'
import { complianceService } from './service.ts'

export interface ComplianceDeps extends CoverageDeps {
  db: Database
  /** The checks of all other domains. */
  checks: readonly EvidenceCheck[]
  installation: InstallationCheckDeps
}

/** The compliance report. */
export const complianceModule = ({ db, checks, installation, ...coverage }: ComplianceDeps) => ({
  useCases: {
    compliance: complianceService({
      db,
      checks: [...checks, ...installationChecks(installation), ...coverageChecks(coverage)],
    }),
  },
})
