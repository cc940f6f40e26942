import { accountsData } from '#lib/domains/accounts/module.ts'
import { accountDirectory } from '#lib/domains/accounts/queries.ts'
import { sealedDocumentBodies, sealedDocumentTitles } from '#lib/domains/agents/life/document-seals.ts'
import { agentsData } from '#lib/domains/agents/module.ts'
import { approvalsData } from '#lib/domains/approvals/module.ts'
import { auditData } from '#lib/domains/audit/module.ts'
import { cladesData } from '#lib/domains/clades/module.ts'
import { sealedShares } from '#lib/domains/clades/repository.ts'
import { erasureData } from '#lib/domains/erasure/module.ts'
import { exportsData } from '#lib/domains/exports/module.ts'
import { grimoireData } from '#lib/domains/grimoire/module.ts'
import { sealedEntries } from '#lib/domains/grimoire/repository.ts'
import { holdsData } from '#lib/domains/holds/module.ts'
import { idempotencyData } from '#lib/domains/idempotency/records.ts'
import { knowledgeData } from '#lib/domains/knowledge/module.ts'
import { llmLogData } from '#lib/domains/llm-log/module.ts'
import { sealedExchanges } from '#lib/domains/llm-log/repository.ts'
import { privacyRequestsData } from '#lib/domains/privacy-requests/module.ts'
import { projectsData } from '#lib/domains/projects/module.ts'
import { retentionData } from '#lib/domains/retention/module.ts'
import { settingsData } from '#lib/domains/settings/module.ts'
import { snapshotsData } from '#lib/domains/snapshots/module.ts'
import { storesData } from '#lib/domains/stores/module.ts'
import { telemetryData } from '#lib/domains/telemetry/service.ts'
import { tokensData } from '#lib/domains/tokens/module.ts'
import { queueDataSource } from '#lib/jobs/data-source.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { DataSource } from '#lib/kernel/data-source.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import type { Platform } from '#lib/platform/platform.ts'
import { outboxDataSource } from '#lib/stores/mail/data-source.ts'

/** The columns whose values are stored sealed, with their keys: versions under a legal hold contain them. */
export const sealedColumns = ({ keyFor }: Pick<Platform, 'keyFor'>) =>
  [
    { ...sealedDocumentTitles, field: 'title' },
    { ...sealedDocumentBodies, field: 'body' },
    { ...sealedEntries, field: 'entry' },
    { ...sealedShares, field: 'entry' },
    { ...sealedExchanges, field: 'exchange' },
  ].map((column) => ({ ...column, key: keyFor(column.purpose) }))

/** Within a stage, data is erased in this order: records before the identities through which they are found. */
function inOrderOfErasure(platform: Platform, moreDataSources: readonly DataSource[]): readonly PersonalData[] {
  const { db, mail, pipeline } = platform
  const addressOf = async (id: string, tx: Transaction = db.prisma) => (await accountDirectory.contactOf(tx, id))?.email
  return [
    { dataSources: moreDataSources },
    knowledgeData(platform),
    projectsData(platform),
    auditData(db),
    erasureData(db),
    exportsData(platform),
    retentionData(db),
    holdsData({ db, sealed: sealedColumns(platform) }),
    { dataSources: [outboxDataSource({ folder: mail.folder, addressOf })] },
    privacyRequestsData({ ...platform, addressOf }),
    // Keys of snapshots are destroyed first, and their rows are deleted before the keyring with which they are sealed.
    snapshotsData(platform),
    grimoireData(platform),
    cladesData(platform),
    llmLogData(platform),
    telemetryData(platform),
    { dataSources: [queueDataSource(db)] },
    idempotencyData(db),
    settingsData(db),
    storesData(db),
    tokensData(db, pipeline),
    agentsData(platform),
    approvalsData(db),
    accountsData(db),
  ]
}

/** The personal data of all domains. */
export function collectPersonalData(platform: Platform, moreDataSources: readonly DataSource[]) {
  const personalData = inOrderOfErasure(platform, moreDataSources)
  // Exports begin with the subject, so that they list the domains in the opposite order.
  const inOrderOfExport = personalData.toReversed()
  return {
    dataSources: personalData.flatMap(({ dataSources = [] }) => dataSources),
    exporters: inOrderOfExport.flatMap(({ exporters = [] }) => exporters),
    personExporters: inOrderOfExport.flatMap(({ personExporters = [] }) => personExporters),
    retainedRecords: personalData.flatMap(({ retainedRecords = [] }) => retainedRecords),
    expiring: personalData.flatMap(({ expiring = [] }) => expiring),
  }
}
export type CollectedData = ReturnType<typeof collectPersonalData>
