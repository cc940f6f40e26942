import type { ErasureEngine } from '#lib/domains/erasure/engine/engine.ts'
import type { CompleteReadings } from '#lib/domains/erasure/reading/reading.ts'
import { readingUseCases } from '#lib/domains/erasure/reading/service.ts'
import { ownReceipts } from '#lib/domains/erasure/receipts/own-receipts.ts'
import { receiptPdfReader } from '#lib/domains/erasure/receipts/receipt-pdf.ts'
import { receiptUseCases } from '#lib/domains/erasure/receipts/service.ts'
import type { Signer } from '#lib/domains/erasure/receipts/signing.ts'
import { erasureProgress } from '#lib/domains/erasure/runs/progress.ts'
import type { DataSource } from '#lib/kernel/data-source.ts'
import type { EvidenceCheck } from '#lib/kernel/evidence.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import type { Ledger } from '#lib/stores/ledger/ledger.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { formerOwnerDataSource } from './data-source.ts'
import { deletionLogReading } from './deletions.ts'
import { erasureEvidence } from './evidence.ts'
import { erasureExporters } from './exporters.ts'
import { erasureJobs } from './jobs.ts'
import { erasurePersonExporters, erasureRunExporters } from './person-exporters.ts'
import { retainedErasureRecords } from './retained-records.ts'
import type { RetentionFacts } from './rules.ts'

export interface ErasureDeps {
  db: Database
  signer: Signer
  ledger: Ledger
  ledgerFolder: string
  engine: ErasureEngine
  readings: CompleteReadings
  dataSources: readonly DataSource[]
  facts: RetentionFacts
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
export function erasureModule({
  db,
  signer,
  ledger,
  ledgerFolder,
  engine,
  readings,
  dataSources,
  facts,
  runsRequestedBy,
}: ErasureDeps) {
  const receipts = receiptUseCases({ db, signer, records: engine.records })
  const own = ownReceipts({ db, runsRequestedBy })
  return {
    useCases: {
      receipts: {
        ...receipts,
        ...deletionLogReading(db),
        ...erasureProgress(db),
        pdf: receiptPdfReader(receipts.read, signer),
        own: own.list,
        standing: own.standing,
      },
      readings: readingUseCases({ db, dataSources, runsWithWords: readings.runsWithWords }),
    },
    jobs: erasureJobs({ ...engine, readings }, { db, ledger, facts }),
    checks: erasureEvidence(signer, ledgerFolder, readings.runsWithWords) satisfies EvidenceCheck[],
    receipts: own,
  }
}
