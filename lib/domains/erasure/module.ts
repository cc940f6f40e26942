import type { Check } from '#lib/kernel/evidence.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { erasureEvidence } from './evidence.ts'
import { erasureExporters } from './exporters.ts'
import { formerOwnerHolder } from './holders.ts'
import { erasureJobs } from './jobs.ts'
import { erasureKept } from './kept.ts'
import { ownReceipts } from './own-receipts.ts'
import { erasurePersonExporters, erasureRunExporters } from './person-exporters.ts'
import { receiptPdfReader } from './receipt-pdf.ts'
import type { ErasureService } from './service.ts'
import type { Signer } from './signing.ts'
import type { SubjectEngine } from './subject-engine.ts'

export interface ErasureDeps {
  db: Database
  signer: Signer
  ledgerFolder: string
  erasures: ErasureService
  engine: SubjectEngine
  /** Ids of runs that erased agents of this person at the person's request. */
  runsAskedBy(accountId: string): Promise<string[]>
}

export const erasureData = (db: Database): PersonalData => ({
  dataSources: [formerOwnerHolder(db)],
  exporters: [...erasureExporters(db), ...erasureRunExporters(db)],
  personExporters: erasurePersonExporters(db),
  retainedRecords: erasureKept(db),
})

/** Receipts and the jobs of erasures. */
export function erasureModule({ db, signer, ledgerFolder, erasures, engine, runsAskedBy }: ErasureDeps) {
  const own = ownReceipts({ db, runsAskedBy })
  return {
    useCases: {
      receipts: {
        ...erasures.receipts,
        pdf: receiptPdfReader(erasures.receipts.read),
        own: own.list,
        standing: own.standing,
      },
    },
    jobs: erasureJobs(erasures, engine),
    checks: erasureEvidence(signer, ledgerFolder) satisfies Check[],
    receipts: own,
  }
}
