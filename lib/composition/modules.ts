import { digestJobs } from '#lib/domains/accounts/email-choices/service.ts'
import { countTry } from '#lib/domains/accounts/passwords.ts'
import { accountsData, accountsModule } from '#lib/domains/accounts/service.ts'
import { accountApprovables } from '#lib/domains/accounts/users.ts'
import { agentsData, agentsModule } from '#lib/domains/agents/service.ts'
import { approvalsData, approvalsModule } from '#lib/domains/approvals/service.ts'
import { auditData, auditModule } from '#lib/domains/audit/service.ts'
import { cladesData, cladesModule } from '#lib/domains/clades/service.ts'
import { complianceModule } from '#lib/domains/compliance/service.ts'
import { consoleModule } from '#lib/domains/console/service.ts'
import { erasureData, erasureModule, openErasures } from '#lib/domains/erasure/service.ts'
import { exportShapes } from '#lib/domains/exports/archive.ts'
import { exportsData, exportsModule } from '#lib/domains/exports/service.ts'
import { grimoireData, grimoireModule } from '#lib/domains/grimoire/service.ts'
import { heldVersionParticipantExporters } from '#lib/domains/holds/personal-data.ts'
import { holdApprovables, holdsData, holdsModule } from '#lib/domains/holds/service.ts'
import { idempotencyData, idempotencyModule } from '#lib/domains/idempotency/records.ts'
import { knowledgeData, knowledgeModule } from '#lib/domains/knowledge/service.ts'
import { mergeVotes } from '#lib/domains/knowledge/votes/service.ts'
import { llmLogData, llmLogModule } from '#lib/domains/llm-log/service.ts'
import { outboxModule } from '#lib/domains/outbox/service.ts'
import { piiModule } from '#lib/domains/pii/service.ts'
import { dueSectionAt } from '#lib/domains/privacy-requests/emails/notifications.ts'
import { noteRequestLinksShown } from '#lib/domains/privacy-requests/filing/links.ts'
import { requestParticipantExporters } from '#lib/domains/privacy-requests/personal-data.ts'
import { requestApprovables } from '#lib/domains/privacy-requests/queue/service.ts'
import { privacyRequestsData, privacyRequestsModule } from '#lib/domains/privacy-requests/service.ts'
import { isOurUpload } from '#lib/domains/projects/documents/uploads.ts'
import { projectParts } from '#lib/domains/projects/erasing/parts.ts'
import { projectOfParticipant } from '#lib/domains/projects/participants/acting.ts'
import { outsideNamespace } from '#lib/domains/projects/provenance/claims.ts'
import { followAgent, projectsData, projectsModule } from '#lib/domains/projects/service.ts'
import { runWords } from '#lib/domains/projects/words/run-words.ts'
import { quotasModule } from '#lib/domains/quotas/service.ts'
import { residencyModule } from '#lib/domains/residency/service.ts'
import { retentionApprovables, retentionData, retentionModule } from '#lib/domains/retention/service.ts'
import { settingsData, settingsModule } from '#lib/domains/settings/service.ts'
import { snapshotsData, snapshotsModule } from '#lib/domains/snapshots/service.ts'
import { storeApprovables, storesData, storesModule } from '#lib/domains/stores/service.ts'
import { destroyExpiredKeys } from '#lib/domains/telemetry/repository.ts'
import { telemetryData, telemetryModule } from '#lib/domains/telemetry/service.ts'
import { tokenApprovables } from '#lib/domains/tokens/lifecycle.ts'
import { adminTokenEnd, tokensData, tokensModule } from '#lib/domains/tokens/service.ts'
import { queueDataSource, queueJobs } from '#lib/jobs/queue.ts'
import type { DataSource } from '#lib/kernel/data-source.ts'
import type { DomainModule, PersonalData } from '#lib/kernel/module.ts'
import { connectedSearch } from '#lib/operator/find-connected.ts'
import { erasureSubjects } from '#lib/platform/erasure-subjects.ts'
import { residueIn } from '#lib/platform/open-stores.ts'
import type { Platform } from '#lib/platform/platform.ts'
import { outboxDataSource } from '#lib/stores/mail/outbox-folder.ts'

/** Within a stage, data is erased in this order: records before the identities through which they are found. */
function inOrderOfErasure(platform: Platform, moreDataSources: readonly DataSource[]): readonly PersonalData[] {
  const { addressOf, db, mail, pipeline } = platform
  return [
    { dataSources: moreDataSources },
    knowledgeData(platform),
    projectsData(platform),
    auditData(db),
    erasureData(db),
    exportsData(platform),
    retentionData(db),
    holdsData(platform),
    { dataSources: [outboxDataSource({ folder: mail.folder, addressOf })] },
    privacyRequestsData(platform),
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
    accountsData(db, adminTokenEnd(pipeline)),
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
type CollectedData = ReturnType<typeof collectPersonalData>

/** The modules of people, agents and tokens. They do not need the erasure engine. */
export function createPeopleModules(platform: Platform) {
  const { db } = platform
  const settings = settingsModule(db)
  const approvals = approvalsModule({
    ...platform,
    approvables: [
      ...accountApprovables(db),
      ...holdApprovables(),
      ...retentionApprovables(platform),
      ...tokenApprovables(),
      ...storeApprovables,
      ...requestApprovables(projectOfParticipant),
    ],
  })
  const { requireApproval } = approvals.useCases.approvals
  const tokens = tokensModule({ ...platform, requireApproval })
  const accounts = accountsModule({
    ...platform,
    ...tokens.useCases,
    requireApproval,
    destroyTelemetryKeys: (tx, now) => destroyExpiredKeys(tx, { now }),
  })
  const agents = agentsModule({
    ...platform,
    ...tokens.useCases,
    ...accounts.useCases,
    async ownerFound(tx, agentId, ownerId, now) {
      await mergeVotes(tx, agentId, ownerId, now)
      await followAgent(tx, agentId)
    },
  })
  return { approvals, settings, tokens, accounts, agents }
}
type PeopleModules = ReturnType<typeof createPeopleModules>

/** The erasure engine over the personal data of all domains. */
export function createErasures(
  platform: Platform,
  data: CollectedData,
  { agents }: Pick<PeopleModules, 'agents'>,
  { interrupt, replaysByItself }: { interrupt(point: string): void; replaysByItself: boolean },
) {
  const { env, heldNames, keyFor, stores } = platform
  return openErasures({
    ...platform,
    ...data,
    interrupt,
    replaysByItself,
    subjects: erasureSubjects(agents.useCases.agents),
    parts: projectParts,
    words: runWords({ ...platform, everyName: heldNames.every, key: keyFor('fingerprints of erased words') }),
    residueIn: residueIn(stores, { hasOtherCheckpoints: env.KP_CHECKPOINTS_URL !== undefined }),
  })
}
type Erasures = ReturnType<typeof createErasures>

/** The modules of all domains, in the order in which the OpenAPI document lists their operations. */
export function createModules(
  platform: Platform,
  data: CollectedData,
  people: PeopleModules,
  erasures: Erasures,
  /** How many milliseconds a request waits for the erasure that it began, if different from the default. */
  patience: number | undefined,
) {
  const { db, limiter } = platform
  const { accounts, agents, approvals, settings, tokens } = people
  const { requireApproval } = approvals.useCases.approvals
  const { records, runs } = erasures
  const useCases = { ...accounts.useCases, ...agents.useCases, ...approvals.useCases, ...settings.useCases }

  const audit = auditModule(platform)
  const retention = retentionModule({ ...platform, ...data, requireApproval })
  const { periods } = retention
  const grimoire = grimoireModule(platform)
  const databaseUrl = db.pool.options.connectionString
  const knowledge = knowledgeModule({ ...platform, records, periods, outsideNamespace })
  const exported = exportsModule({ ...platform, ...data, importers: knowledge.importers })
  const projects = projectsModule({
    ...platform,
    runs,
    patience,
    participantExporters: [...requestParticipantExporters(db), ...heldVersionParticipantExporters(platform)],
    shapes: exportShapes,
  })
  const requests = privacyRequestsModule({
    ...platform,
    ...useCases,
    ...exported.useCases,
    runs,
    emails: accounts.emails,
    participants: projects.participants,
    answersForPart: projects.answersForPart,
    expectedRetention: erasures.expectedRetention,
    countTry: (window) => countTry(limiter, [window]),
  })
  /** Jobs whose failure the console reports as an undelivered email. */
  const emailJobs = [...accounts.emailJobs, ...requests.emailJobs]
  const modules = [
    accounts,
    agents,
    tokens,
    quotasModule(db),
    settings,
    approvals,
    knowledge,
    projects,
    audit,
    erasureModule({ ...platform, ...data, erasures }),
    exported,
    retention,
    holdsModule({ ...platform, requireApproval, onReleased: runs.resumeHeld }),
    requests,
    snapshotsModule({
      ...platform,
      stored: { agents: agents.state, grimoires: grimoire.state },
      areObjectsOurs: () => isOurUpload({ objects: platform.stores.objects, installation: platform.installation }),
    }),
    grimoire,
    cladesModule({ ...platform, entriesOf: grimoire.entriesOf }),
    llmLogModule(platform),
    consoleModule({ ...platform, ...data, emailJobs, periods }),
    outboxModule({
      ...platform,
      ...useCases,
      noteRequestLinksShown,
      emailJobs: [...emailJobs, ...projects.emailJobs],
      countTry: (window) => countTry(limiter, [window]),
    }),
    piiModule(platform),
    storesModule({ ...platform, ...useCases, search: connectedSearch({ ...platform, databaseUrl }) }),
    residencyModule(platform),
    telemetryModule({ ...platform, runs }),
    idempotencyModule(db),
    { useCases: {}, jobs: queueJobs(db) },
  ] as const satisfies readonly DomainModule[]

  const compliance = complianceModule({ ...platform, ...data, modules })
  const digest = digestJobs({
    ...platform,
    emails: accounts.emails,
    requests: (now) => dueSectionAt(platform, now),
    controls: compliance.useCases.compliance.counts,
  })
  return {
    modules: [...modules, compliance] as const,
    digest,
    /** Stores by name, for server code. */
    stores: { ...retention.stores, auditLog: audit.auditLog },
  }
}
