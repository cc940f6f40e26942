import type { Check } from '#lib/kernel/evidence.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { type CoverageParts, coverageChecks } from './coverage-checks.ts'
import { type InstallationParts, installationChecks } from './installation-checks.ts'
import { complianceService } from './service.ts'

export interface ComplianceDeps extends CoverageParts {
  db: Database
  /** The checks of all other domains. */
  checks: readonly Check[]
  installation: InstallationParts
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
