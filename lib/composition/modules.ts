import { sealedPurposes, subjectPurpose } from '#lib/config/secret.ts'
import { digestEmailJob, digestJobs } from '#lib/domains/accounts/email-choices/service.ts'
import { accountsModule } from '#lib/domains/accounts/module.ts'
import { countTry } from '#lib/domains/accounts/passwords.ts'
import { accountApprovables } from '#lib/domains/accounts/users.ts'
import { noticeJob } from '#lib/domains/accounts/writes.ts'
import { documentKeys } from '#lib/domains/agents/life/document-seals.ts'
import { lifeExporters } from '#lib/domains/agents/life/personal-data.ts'
import {
  documentRestorer,
  grimoireDaysOf,
  settingsRestorer,
  snapshotSettings,
} from '#lib/domains/agents/life/service.ts'
import { agentsModule } from '#lib/domains/agents/module.ts'
import { cladeMembers } from '#lib/domains/agents/queries.ts'
import { approvalsModule } from '#lib/domains/approvals/module.ts'
import { auditModule } from '#lib/domains/audit/module.ts'
import { cladesModule } from '#lib/domains/clades/module.ts'
import { joinClade, leaveClade, recallOfRestricted } from '#lib/domains/clades/service.ts'
import { complianceModule } from '#lib/domains/compliance/service.ts'
import { consoleModule } from '#lib/domains/console/service.ts'
import { erasureModule, openErasures } from '#lib/domains/erasure/module.ts'
import { erasedOf } from '#lib/domains/erasure/queries.ts'
import { exportShapes } from '#lib/domains/exports/archive.ts'
import { exportsModule } from '#lib/domains/exports/module.ts'
import { grimoireModule } from '#lib/domains/grimoire/module.ts'
import { grimoireExporters } from '#lib/domains/grimoire/personal-data.ts'
import { entriesOf, entryRestorer, hasEntries, keyringOf } from '#lib/domains/grimoire/service.ts'
import { holdsModule } from '#lib/domains/holds/module.ts'
import { heldVersionParticipantExporters } from '#lib/domains/holds/personal-data.ts'
import { holdApprovables } from '#lib/domains/holds/service.ts'
import { idempotencyModule } from '#lib/domains/idempotency/records.ts'
import { skillImporter, unitImporter } from '#lib/domains/knowledge/imports.ts'
import { knowledgeModule } from '#lib/domains/knowledge/module.ts'
import { mergeVotes } from '#lib/domains/knowledge/votes/service.ts'
import { llmLogModule } from '#lib/domains/llm-log/module.ts'
import { outboxModule } from '#lib/domains/outbox/service.ts'
import { piiModule } from '#lib/domains/pii/service.ts'
import { dueSectionAt } from '#lib/domains/privacy-requests/emails/notifications.ts'
import { noteRequestLinksShown } from '#lib/domains/privacy-requests/filing/links.ts'
import { privacyRequestsModule } from '#lib/domains/privacy-requests/module.ts'
import { requestParticipantExporters } from '#lib/domains/privacy-requests/personal-data.ts'
import { requestApprovables } from '#lib/domains/privacy-requests/queue/service.ts'
import { addressJob, notifyAdminJob, notifyJob } from '#lib/domains/privacy-requests/timeline.ts'
import { closingEmailJob } from '#lib/domains/projects/closing/service.ts'
import { isOurUpload } from '#lib/domains/projects/documents/uploads.ts'
import { projectParts } from '#lib/domains/projects/erasing/parts.ts'
import { projectsModule } from '#lib/domains/projects/module.ts'
import { projectOfParticipant } from '#lib/domains/projects/participants/acting.ts'
import { outsideNamespace } from '#lib/domains/projects/provenance/claims.ts'
import { followAgent } from '#lib/domains/projects/service.ts'
import { runWords } from '#lib/domains/projects/words/run-words.ts'
import { quotasModule } from '#lib/domains/quotas/service.ts'
import { residencyModule } from '#lib/domains/residency/module.ts'
import { retentionModule } from '#lib/domains/retention/module.ts'
import { retentionApprovables } from '#lib/domains/retention/service.ts'
import { settingsModule } from '#lib/domains/settings/module.ts'
import { snapshotsModule } from '#lib/domains/snapshots/module.ts'
import { insureRetiredAgents, isSealedTo } from '#lib/domains/snapshots/service.ts'
import { storesModule } from '#lib/domains/stores/module.ts'
import { storeApprovables } from '#lib/domains/stores/service.ts'
import { destroyExpiredKeys } from '#lib/domains/telemetry/repository.ts'
import { telemetryModule } from '#lib/domains/telemetry/service.ts'
import { tokenApprovables } from '#lib/domains/tokens/lifecycle.ts'
import { tokensModule } from '#lib/domains/tokens/module.ts'
import { queueJobs } from '#lib/jobs/upkeep.ts'
import type { DomainModule } from '#lib/kernel/module.ts'
import { identifiesSomebody, searchConnectedStores } from '#lib/operator/find-connected.ts'
import { erasureSubjects } from '#lib/platform/erasure-subjects.ts'
import type { Platform } from '#lib/platform/platform.ts'
import { residueIn } from '#lib/stores/residue.ts'
import { type CollectedData, sealedColumns } from './personal-data.ts'

/** Jobs whose failure the console reports as an undelivered email. */
const emailJobs = [noticeJob, notifyJob, addressJob, notifyAdminJob, digestEmailJob]

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
    joinClade: (tx, joining) => joinClade(tx, joining, cladeMembers),
    async ownerFound(tx, agentId, ownerId, now) {
      await mergeVotes(tx, agentId, ownerId, now)
      await followAgent(tx, agentId)
    },
    onRetirement: [insureRetiredAgents, (tx, retirement) => leaveClade(tx, retirement, cladeMembers)],
    onRestriction: [recallOfRestricted],
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

/** Snapshots contain what agents and their grimoires store. */
function composeSnapshots(platform: Platform) {
  const { db, installation, keyFor, stores, strict } = platform
  const keys = documentKeys(keyFor)
  const key = keyFor(sealedPurposes.grimoire)
  return snapshotsModule({
    ...platform,
    keyringOf,
    settingsOf: snapshotSettings,
    restoreSettings: settingsRestorer({ hasEntries }),
    exporters: [...lifeExporters(db, keys), ...grimoireExporters(db, key)],
    restorers: [documentRestorer({ strict, keys }), entryRestorer({ key, grimoireDaysOf })],
    areObjectsOurs: () => isOurUpload({ objects: stores.objects, installation }),
  })
}

/** The modules of all domains, in the order in which the OpenAPI document lists their operations. */
export function createModules(
  platform: Platform,
  data: CollectedData,
  people: PeopleModules,
  erasures: Erasures,
  /** How many milliseconds a request waits for the erasure that it began, if different from the default. */
  patience: number | undefined,
) {
  const { db, env, erasedAgents, keyFor, limiter, log, strict } = platform
  const { accounts, agents, approvals, settings, tokens } = people
  const { requireApproval } = approvals.useCases.approvals
  const { records, runs } = erasures
  const useCases = { ...accounts.useCases, ...agents.useCases, ...approvals.useCases, ...settings.useCases }
  const chosenIds = { outsideNamespace, erasedOf }

  const retention = retentionModule({ ...platform, ...data, requireApproval })
  const { periods } = retention
  const exported = exportsModule({
    ...platform,
    ...data,
    importers: [unitImporter({ strict, chosenIds, erasedAgents }), skillImporter({ strict, chosenIds })],
  })
  const projects = projectsModule({
    ...platform,
    runs,
    patience,
    participantExporters: [
      ...requestParticipantExporters(db),
      ...heldVersionParticipantExporters({ db, sealed: sealedColumns(platform) }),
    ],
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
  const modules = [
    accounts,
    agents,
    tokens,
    quotasModule(db),
    settings,
    approvals,
    knowledgeModule({ ...platform, records, periods, chosenIds }),
    projects,
    auditModule(db, log),
    erasureModule({ ...platform, ...data, erasures }),
    exported,
    retention,
    holdsModule({ ...platform, requireApproval, onReleased: runs.resumeHeld }),
    requests,
    composeSnapshots(platform),
    grimoireModule({ ...platform, isSealedTo }),
    cladesModule({
      ...platform,
      members: cladeMembers,
      entriesOf: entriesOf({ key: keyFor(sealedPurposes.grimoire), grimoireDaysOf }),
    }),
    llmLogModule(platform),
    consoleModule({ ...platform, ...data, emailJobs, periods }),
    outboxModule({
      ...platform,
      ...useCases,
      emailJobs: [...emailJobs, closingEmailJob],
      accountMarked: useCases.accounts.accountMarked,
      async noteLinksShown(secrets, now) {
        await useCases.accounts.noteLinksShown(secrets, now)
        await noteRequestLinksShown(db.prisma, secrets, now)
      },
    }),
    piiModule(platform),
    storesModule({
      ...platform,
      ...useCases,
      search: {
        search: searchConnectedStores(env, db.pool.options.connectionString, keyFor(subjectPurpose)),
        identifies: identifiesSomebody,
      },
    }),
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
  return { modules: [...modules, compliance] as const, digest, retention }
}
