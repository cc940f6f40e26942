import type { EvidenceCheck } from '#lib/kernel/evidence.ts'
import type { Basis } from '#lib/kernel/exporter.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import type { CopyProblem } from './contract.ts'
import { exportJobs, exportUpkeep, preparation } from './jobs.ts'
import { exportExporters, exportFilesDataSource, exportPersonExporters, exportRunsDataSource } from './personal-data.ts'
import type { ExportsDeps, PreparedExports } from './prepared.ts'
import { summaryOfExports } from './repository.ts'
import { overdueBefore, rememberedFor } from './rules.ts'
import { exportsService } from './service.ts'

interface Prepared {
  prepared: PreparedExports
}

export const exportsData = ({ prepared }: Prepared): PersonalData => ({
  dataSources: [exportFilesDataSource(prepared), exportRunsDataSource(prepared.db)],
  exporters: exportExporters(prepared.db),
  personExporters: exportPersonExporters(prepared.db),
})

const month = 30 * 86_400_000

/**
 * Checks the exports of one basis: their number within the last month, and the prepared copies that are still remembered: their median
 * duration, and that none failed or outlived its term.
 */
const copies = (line: 'access' | 'portability', basis: Basis): EvidenceCheck => ({
  line,
  name: `exports.${basis}`,
  page: '/admin/audit?resource_type=export',
  async ask(query, now) {
    const [row] = await summaryOfExports(query, {
      basis,
      since: new Date(now.getTime() - month),
      remembered: new Date(now.getTime() - rememberedFor),
      overdue: overdueBefore(now),
    })
    const { runs = 0, ready = 0, failed = 0, late = 0, seconds = null, last = null } = row ?? {}
    const page = (problem: CopyProblem) => `/admin/compliance/copies?scope=${basis}&problem=${problem}` as const
    return {
      state: late > 0 ? 'fails' : failed > 0 ? 'attention' : runs + ready === 0 ? 'not_applicable' : 'holds',
      numbers: { runs, ready, failed, late, seconds: seconds === null ? 0 : Math.ceil(seconds) },
      times: { last },
      problems: [
        { problem: 'exports.late', count: late, page: page('late') },
        { problem: 'exports.failed', count: failed, page: page('failed') },
      ],
    }
  },
})

const exportsEvidence = (): EvidenceCheck[] => [copies('access', 'all'), copies('portability', 'provided')]

/** Exports, imports and the inventory. */
export function exportsModule({ prepared, ...given }: Prepared & Omit<ExportsDeps, keyof PreparedExports>) {
  const deps: ExportsDeps = { ...given, ...prepared }
  return {
    useCases: { exports: exportsService(deps) },
    jobs: exportJobs(preparation(deps), exportUpkeep(deps)),
    checks: exportsEvidence(),
  }
}
