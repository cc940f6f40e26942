import type { DataSource } from '#lib/kernel/data-source.ts'
import type { EvidenceCheck } from '#lib/kernel/evidence.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import type { Ledger } from '#lib/stores/ledger/ledger.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { deletionLogReading } from './deletions.ts'
import type { ErasureEngine } from './engine/run-driver.ts'
import { erasureEvidence } from './evidence.ts'
import { erasureJobs } from './jobs.ts'
import {
  erasureExporters,
  erasurePersonExporters,
  erasureRunExporters,
  formerOwnerDataSource,
  retainedErasureRecords,
} from './personal-data.ts'
import type { CompleteReadings } from './reading/reading.ts'
import { readingUseCases } from './reading/service.ts'
import { receiptPdfReader } from './receipts/receipt-pdf.ts'
import { ownReceipts, receiptUseCases } from './receipts/service.ts'
import type { Signer } from './receipts/signing.ts'
import type { RetentionFacts } from './rules.ts'
import { erasureProgress } from './runs/progress.ts'

export interface ErasureDeps {
  db: Database
  signer: Signer
  ledger: Ledger
  ledgerFolder: string
  engine: ErasureEngine
  readings: CompleteReadings
  dataSources: readonly DataSource[]
  facts: RetentionFacts
}

export const erasureData = (db: Database): PersonalData => ({
  dataSources: [formerOwnerDataSource(db)],
  exporters: [...erasureExporters(db), ...erasureRunExporters(db)],
  personExporters: erasurePersonExporters(db),
  retainedRecords: retainedErasureRecords(db),
})

/** Receipts and the jobs of erasures. */
export function erasureModule({ db, signer, ledger, ledgerFolder, engine, readings, dataSources, facts }: ErasureDeps) {
  const receipts = receiptUseCases({ db, signer, records: engine.records })
  const own = ownReceipts(db)
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
  }
}
