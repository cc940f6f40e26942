import { accountsData } from '#lib/domains/accounts/module.ts'
import { accountDirectory } from '#lib/domains/accounts/queries.ts'
import { agentsData } from '#lib/domains/agents/module.ts'
import { approvalsData } from '#lib/domains/approvals/module.ts'
import { auditData } from '#lib/domains/audit/module.ts'
import { cladesData } from '#lib/domains/clades/module.ts'
import { erasureData } from '#lib/domains/erasure/module.ts'
import { exportsData } from '#lib/domains/exports/module.ts'
import { grimoireData } from '#lib/domains/grimoire/module.ts'
import { holdsData } from '#lib/domains/holds/module.ts'
import { idempotencyData } from '#lib/domains/idempotency/records.ts'
import { knowledgeData } from '#lib/domains/knowledge/module.ts'
import { llmLogData } from '#lib/domains/llm-log/module.ts'
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
import { outboxDataSource } from '#lib/stores/mail/data-source.ts'
import type { Foundation } from './foundation.ts'

/** Within a stage, data is erased in this order: records before the identities through which they are found. */
function inOrderOfErasure(foundation: Foundation, moreDataSources: readonly DataSource[]): readonly PersonalData[] {
  const { db, env, heldNames, keys, known, mail, namesOf, pipeline, prepared, pseudonymOf, sources, stores } =
    foundation
  const addressOf = async (id: string, tx: Transaction = db.prisma) => (await accountDirectory.contactOf(tx, id))?.email
  return [
    { dataSources: moreDataSources },
    knowledgeData({ db, pseudonymOf }),
    projectsData({
      db,
      stores,
      sources,
      namesOf,
      heldNames,
      pseudonymOf,
      missing: known.missing,
      pointerPrefixes: env.KP_POINTER_PREFIXES,
      invalidatesProject: env.KP_CACHE_INVALIDATE_PROJECT,
    }),
    auditData(db),
    erasureData(db),
    exportsData(prepared),
    retentionData(db),
    holdsData(db, foundation.sealedVersions),
    { dataSources: [outboxDataSource({ folder: mail.folder, addressOf })] },
    privacyRequestsData({ db, pipeline, subjectKey: keys.subject, requestsYears: env.KP_REQUESTS_YEARS, addressOf }),
    // Keys of snapshots are destroyed first, and their rows are deleted before the keyring with which they are sealed.
    snapshotsData({ ...foundation.snapshotStorage, whatIsMissing: known.missing('objects') }),
    grimoireData(db, keys.grimoire),
    cladesData(db, keys.clades),
    llmLogData(db, keys.llmLog),
    telemetryData(db, foundation.telemetryKey),
    { dataSources: [queueDataSource(db)] },
    idempotencyData(db),
    settingsData(db),
    storesData(db),
    tokensData(db, pipeline),
    agentsData(db, keys.documents),
    approvalsData(db),
    accountsData(db),
  ]
}

/** The personal data of all domains. */
export function collectPersonalData(foundation: Foundation, moreDataSources: readonly DataSource[]) {
  const personalData = inOrderOfErasure(foundation, moreDataSources)
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
