import type { SubjectEngine } from '#lib/domains/erasure/engine/subject-engine.ts'
import { ownReceipts } from '#lib/domains/erasure/receipts/own-receipts.ts'
import { receiptPdfReader } from '#lib/domains/erasure/receipts/receipt-pdf.ts'
import type { Signer } from '#lib/domains/erasure/receipts/signing.ts'
import type { EvidenceCheck } from '#lib/kernel/evidence.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { formerOwnerDataSource } from './data-source.ts'
import { erasureEvidence } from './evidence.ts'
import { erasureExporters } from './exporters.ts'
import { erasureJobs } from './jobs.ts'
import { erasurePersonExporters, erasureRunExporters } from './person-exporters.ts'
import { retainedErasureRecords } from './retained-records.ts'
import type { ErasureService } from './service.ts'

export interface ErasureDeps {
  db: Database
  signer: Signer
  ledgerFolder: string
  erasures: ErasureService
  engine: SubjectEngine
  /** Ids of runs that erased agents of this person at the person's request. */
  runsRequestedBy(accountId: string): Promise<string[]>
}

export const erasureData = (db: Database): PersonalData => ({
  dataSources: [formerOwnerDataSource(db)],
  exporters: [...erasureExporters(db), ...erasureRunExporters(db)],
  personExporters: erasurePersonExporters(db),
  retainedRecords: retainedErasureRecords(db),
})

/** Receipts and the jobs of erasures. */
export function erasureModule({ db, signer, ledgerFolder, erasures, engine, runsRequestedBy }: ErasureDeps) {
  const own = ownReceipts({ db, runsRequestedBy })
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
    checks: erasureEvidence(signer, ledgerFolder) satisfies EvidenceCheck[],
    receipts: own,
  }
}
