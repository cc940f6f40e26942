import { createHmac } from 'node:crypto'
import { join } from 'node:path'
import { countTry } from '#lib/domains/accounts/attempts.ts'
import {
  erasableAgent,
  ownAgent,
  ownAgentLocked,
  sharingAgent,
  writableAgent,
} from '#lib/domains/agents/life/agent-access.ts'
import { agentsOfAccount } from '#lib/domains/agents/status.ts'
import { agentSummary } from '#lib/domains/agents/summary.ts'
import { erasureEngine } from '#lib/domains/erasure/engine/engine.ts'
import { itemsBeginning, moveItems, replaceItems } from '#lib/domains/erasure/engine/planned-items.ts'
import { replayErasures } from '#lib/domains/erasure/ledger/replay.ts'
import { restoredDatabase } from '#lib/domains/erasure/ledger/restored-database.ts'
import { receiptFinder } from '#lib/domains/erasure/receipts/service.ts'
import { activeRuns } from '#lib/domains/erasure/runs/active-runs.ts'
import { erasedAmong, erasedOf } from '#lib/domains/erasure/suppression/erased-ids.ts'
import { erasedSubjects } from '#lib/domains/erasure/suppression/erased-names.ts'
import { activeExports, exportsToFetch } from '#lib/domains/exports/active-exports.ts'
import { holdsEnding } from '#lib/domains/holds/release.ts'
import { withdrawNaming } from '#lib/domains/idempotency/data-source.ts'
import { authorsUnderLegalHold } from '#lib/domains/knowledge/erasure/authors-under-legal-hold.ts'
import { isStored } from '#lib/domains/knowledge/erasure/legal-holds.ts'
import { authorPseudonyms } from '#lib/domains/knowledge/erasure/pseudonym.ts'
import { restoredRecord } from '#lib/domains/knowledge/erasure/restored-record.ts'
import { contributedBy } from '#lib/domains/knowledge/inspection/contributed.ts'
import { expiringSoon } from '#lib/domains/knowledge/inspection/expiring-soon.ts'
import { quarantined } from '#lib/domains/knowledge/moderation/quarantine-count.ts'
import { unitImporter } from '#lib/domains/knowledge/units/imports.ts'
import { mergeVotes } from '#lib/domains/knowledge/votes/claimed-votes.ts'
import { requestedCopy } from '#lib/domains/privacy-requests/execution/requested-copy.ts'
import { isOurUpload } from '#lib/domains/projects/documents/uploads.ts'
import { participationsOf } from '#lib/domains/projects/participants/fence.ts'
import { followAgent } from '#lib/domains/projects/project-transfer.ts'
import { gatheredSources } from '#lib/domains/projects/provenance/gathered-sources.ts'
import { outsideNamespace } from '#lib/domains/projects/provenance/namespaces.ts'
import { activeSweep } from '#lib/domains/retention/active-sweep.ts'
import { revokedByLimits, tokenSummary } from '#lib/domains/tokens/summary.ts'
import { queueDataSource } from '#lib/jobs/data-source.ts'
import type { DataSource } from '#lib/kernel/data-source.ts'
import { outboxDataSource, outboxRetention } from '#lib/stores/mail/data-source.ts'
import { residueIn } from '#lib/stores/residue.ts'
import packageJson from '../package.json' with { type: 'json' }
import { customerNetworkOf, limitKeyOf } from './access/client-address.ts'
import { limiterMeasures } from './access/limiter-measures.ts'
import { purgeExpiredWindows } from './access/limiter-postgres.ts'
import { tokenLookup } from './access/token-lookup.ts'
import { dataFolderMark } from './config/data-folder.ts'
import { type Env, openIdProvider } from './config/env.ts'
import { assessSites, exportsFolder, snapshotKeysFolder, storeLocationNamed } from './config/locations.ts'
import { sealedPurposes, subjectPurpose } from './config/secret.ts'
import { accountDirectory } from './domains/accounts/directory.ts'
import { accountsData, accountsModule } from './domains/accounts/module.ts'
import { enqueueNotice, noticeJob } from './domains/accounts/notices.ts'
import { dropOrganisationIfEmpty, organisationDirectory } from './domains/accounts/organisations/directory.ts'
import { organisationOfAccount } from './domains/accounts/repository.ts'
import { createOrganisation } from './domains/accounts/service.ts'
import { newestSignIns } from './domains/accounts/sessions/repository.ts'
import { cladeMembers } from './domains/agents/clade-members.ts'
import { agentIdsInRegions, agentsInRegions } from './domains/agents/in-region.ts'
import { lifeExporters } from './domains/agents/life/exporters.ts'
import { documentRestorer } from './domains/agents/life/restoring.ts'
import { grimoireDaysOf, settingsRestorer, snapshotSettings } from './domains/agents/life/snapshot-settings.ts'
import { agentListing } from './domains/agents/listing.ts'
import { agentsData, agentsModule } from './domains/agents/module.ts'
import { lawfulBases, ownedAgents, selfHostedAmong } from './domains/agents/owned.ts'
import { agentOf, profileOf } from './domains/agents/rows.ts'
import { noticeVersion } from './domains/agents/rules.ts'
import { usesOf } from './domains/audit/evidence.ts'
import { auditData, auditModule } from './domains/audit/module.ts'
import { joinClade, leaveClade, recallOfRestricted } from './domains/clades/joining.ts'
import { cladesData, cladesModule } from './domains/clades/module.ts'
import { complianceModule } from './domains/compliance/module.ts'
import { consoleModule } from './domains/console/module.ts'
import { deletionRows, recordDeletion } from './domains/erasure/deletion-log.ts'
import { erasureMeasures } from './domains/erasure/measures.ts'
import { erasureData, erasureModule } from './domains/erasure/module.ts'
import { retainedOfSubject } from './domains/erasure/rules.ts'
import { zipArchive } from './domains/exports/archive.ts'
import { exportFiles } from './domains/exports/export-files.ts'
import { exportsData, exportsModule } from './domains/exports/module.ts'
import type { ExportChange } from './domains/exports/prepared.ts'
import { schemaVersion } from './domains/exports/rules.ts'
import { entriesOf, hasEntries } from './domains/grimoire/entries.ts'
import { grimoireExporters } from './domains/grimoire/exporters.ts'
import { keyringOf } from './domains/grimoire/keyrings.ts'
import { grimoireData, grimoireModule } from './domains/grimoire/module.ts'
import { entryRestorer } from './domains/grimoire/restoring.ts'
import { holdsInForce } from './domains/holds/in-force.ts'
import { holdsData, holdsModule } from './domains/holds/module.ts'
import { idempotencyData, idempotencyModule } from './domains/idempotency/module.ts'
import { withdrawAnswers } from './domains/idempotency/records.ts'
import type { ChosenIdPorts } from './domains/knowledge/chosen-ids.ts'
import { isAttributed } from './domains/knowledge/exporters.ts'
import { knowledgeData, knowledgeModule } from './domains/knowledge/module.ts'
import { skillImporter } from './domains/knowledge/skills/imports.ts'
import { isLate, llmLogMeasures, logLateness } from './domains/llm-log/lateness.ts'
import { llmLogData, llmLogModule } from './domains/llm-log/module.ts'
import { outboxModule } from './domains/outbox/module.ts'
import { piiModule } from './domains/pii/module.ts'
import { requestParticipantExporters } from './domains/privacy-requests/exporters.ts'
import { requestMeasures } from './domains/privacy-requests/measures.ts'
import { privacyRequestsData, privacyRequestsModule } from './domains/privacy-requests/module.ts'
import { isOnFile, openRequestsOf } from './domains/privacy-requests/open-count.ts'
import { requestLinkTriesPerMinute } from './domains/privacy-requests/rules.ts'
import { addressJob, notifyAdminJob, notifyJob } from './domains/privacy-requests/timeline.ts'
import { closingSoon } from './domains/projects/closing/closing-soon.ts'
import { closingEmailJob } from './domains/projects/closing/jobs.ts'
import { answersForPart, isProject, projectParts } from './domains/projects/erasing/parts.ts'
import { recordedOf } from './domains/projects/erasing/recorded.ts'
import { foreignEpisodes } from './domains/projects/graph/foreign-episodes.ts'
import { idsInRegions, projectsInRegions } from './domains/projects/in-region.ts'
import { projectsData, projectsModule } from './domains/projects/module.ts'
import {
  actedFor,
  ownsProjectOf,
  projectOfParticipant,
  rectifyParticipant,
} from './domains/projects/participants/acting.ts'
import { restrictParticipants, unrestrictParticipants } from './domains/projects/participants/restricting.ts'
import { runWords } from './domains/projects/words/run-words.ts'
import { quotasModule } from './domains/quotas/module.ts'
import { residencyModule } from './domains/residency/module.ts'
import { fulfilledRegions } from './domains/residency/rules.ts'
import { retentionMeasures } from './domains/retention/measures.ts'
import { retentionData, retentionModule } from './domains/retention/module.ts'
import type { RetentionStores } from './domains/retention/retention-manager.ts'
import { settingsData, settingsModule } from './domains/settings/module.ts'
import { snapshotKeys } from './domains/snapshots/key-files.ts'
import { snapshotsData, snapshotsModule } from './domains/snapshots/module.ts'
import { snapshotParts } from './domains/snapshots/parts.ts'
import { insureRetiredAgents, isSealedTo } from './domains/snapshots/terms.ts'
import { ledgerLostAt } from './domains/stores/ledgers.ts'
import { storesData, storesModule } from './domains/stores/module.ts'
import { durationOf } from './domains/telemetry/events.ts'
import { reportCompletedErasures } from './domains/telemetry/jobs.ts'
import { telemetryMeasures } from './domains/telemetry/measures.ts'
import { telemetryData, telemetryModule } from './domains/telemetry/module.ts'
import type { CaptureEvent } from './domains/telemetry/observer.ts'
import { tokensData, tokensModule } from './domains/tokens/module.ts'
import { tierLimits } from './domains/tokens/rules.ts'
import { createEntryPoints } from './http/entry-points.ts'
import { createMetrics } from './http/metrics.ts'
import { serviceUseCases } from './http/service.ts'
import { failedOnce } from './jobs/undelivered.ts'
import { queueJobs } from './jobs/upkeep.ts'
import { type Clock, systemClock } from './kernel/clock.ts'
import type { Transaction } from './kernel/context.ts'
import type { RunChange } from './kernel/erasure-run.ts'
import { type DomainModule, mergeUseCases, type PersonalData } from './kernel/module.ts'
import type { AuditAction } from './kernel/operation.ts'
import { transactionalEvent } from './kernel/transactional-event.ts'
import { isUseCase, type UseCase } from './kernel/use-case.ts'
import { erasureSubjects } from './platform/erasure-subjects.ts'
import { openPlatform, type Patience } from './platform/platform.ts'
import { storeChecks } from './platform/store-states.ts'
import { ledgerFolder } from './stores/ledger/ledger.ts'
import type { Database } from './stores/postgres/database.ts'

/** A query of the audit log by server code; times are inclusive. */
export interface AuditQuestion {
  agentId?: string
  action?: AuditAction
  from?: Date
  to?: Date
}
export interface AppOptions {
  env: Env
  clock?: Clock
  /** For tests: called at named points of an erasure, to end it there like a crash. */
  interrupt?: (point: string) => void
  /** For tests: data sources in addition to our own. */
  moreDataSources?: (db: Database) => DataSource[]
  /** For tests: how long requests wait. */
  patience?: Patience
  /** If the database was restored, replays the erasure ledger before anything is served. Otherwise it waits for the command. */
  replaysByItself?: boolean
  /** For tests: receives telemetry events if telemetry is disabled. */
  overheard?: CaptureEvent
}

/** The use cases of modules that are operations of the API, in the order of the modules. */
const operationsOf = (modules: readonly DomainModule[]): UseCase[] =>
  modules.flatMap(({ useCases }) => Object.values(useCases).flatMap((own) => Object.values(own).filter(isUseCase)))

/**
 * The composition root: opens the platform, collects the personal data of all domains, builds the erasure engine over it, and then the
 * modules of the domains in one ordered list. Connects to nothing before the first request.
 */
export function createApp({
  env,
  clock = systemClock,
  interrupt = () => {},
  moreDataSources = () => [],
  patience = {},
  replaysByItself = false,
  overheard,
}: AppOptions) {
  const platform = openPlatform({ env, clock, patience })
  const {
    db,
    erasedAgents,
    pipeline,
    isOfOthers,
    assessedLocations,
    keyFor,
    known,
    ledger,
    limiter,
    log,
    mail,
    namesOf,
  } = platform
  const { origin, storeLocations, query, recognise, regions, signer, stores, suppressed, suppressionKeys } = platform
  const strict = env.KP_SANITIZER_STRICT
  const chosenIds: ChosenIdPorts = { outsideNamespace, erasedOf }

  const isOnRecord = async (tx: Transaction, accountId: string) =>
    (await agentsOfAccount(tx, accountId)).length > 0 ||
    (await isOnFile(tx, accountId)) ||
    (await holdsInForce.inForce(tx, { account: accountId, agents: [] }, clock.now())).account !== null

  const erasureChanges = transactionalEvent<RunChange>()
  const exportChanges = transactionalEvent<ExportChange>()
  const pseudonymOf = authorPseudonyms(keyFor('pseudonyms'))
  const sources = gatheredSources()
  const grimoireKey = keyFor(sealedPurposes.grimoire)
  const cladeKey = keyFor(sealedPurposes.clades)
  const llmLogKey = keyFor(sealedPurposes.llmLog)
  const subjectKey = keyFor(subjectPurpose)
  const prepared = {
    db,
    clock,
    files: exportFiles(exportsFolder(env), (isPut) => known.used('exports', isPut)),
    onExport: exportChanges.publish,
  }
  const snapshotStorage = {
    db,
    objects: stores.objects,
    keys: snapshotKeys({
      folder: snapshotKeysFolder(env),
      used: () => known.used('snapshot_keys'),
      whatIsMissing: known.missing('snapshot_keys'),
    }),
  }
  /** Within a stage, data is erased in this order: records before the identities through which they are found. */
  const personalData: readonly PersonalData[] = [
    { dataSources: moreDataSources(db) },
    knowledgeData({ db, pseudonymOf, withdrawAnswers, withdrawNaming }),
    projectsData({
      ...{ db, stores, sources, namesOf, moveItems, pseudonymOf, withdrawNaming },
      missing: known.missing,
      pointerPrefixes: env.KP_POINTER_PREFIXES,
    }),
    auditData(db),
    erasureData(db),
    exportsData({ ...prepared, recordedOf }),
    retentionData(db),
    holdsData(db),
    {
      dataSources: [
        outboxDataSource({
          folder: mail.folder,
          addressOf: async (id, tx = db.prisma) => (await accountDirectory.contactOf(tx, id))?.email,
        }),
      ],
    },
    privacyRequestsData({ db, pipeline, subjectKey, requestsYears: env.KP_REQUESTS_YEARS }),
    // Keys of snapshots are destroyed first, and their rows are deleted before the keyring with which they are sealed.
    snapshotsData({ ...snapshotStorage, whatIsMissing: known.missing('objects') }),
    grimoireData(db, grimoireKey),
    cladesData(db, cladeKey),
    llmLogData(db, llmLogKey),
    telemetryData(db, platform.telemetryKey),
    { dataSources: [queueDataSource(db)] },
    idempotencyData(db),
    settingsData(db),
    storesData(db),
    tokensData(db, pipeline),
    agentsData({
      db,
      authorsUnderLegalHold,
      dropOrganisationIfEmpty,
      countEmptyOrganisations: organisationDirectory.countEmptyNamed,
    }),
    accountsData(db),
  ]
  const dataSources = personalData.flatMap(({ dataSources = [] }) => dataSources)
  // Exports begin with the subject, so that they list the domains in the opposite order.
  const exporters = personalData.toReversed().flatMap((data) => data.exporters ?? [])
  const personExporters = personalData.toReversed().flatMap((data) => data.personExporters ?? [])
  const retainedRecords = personalData.flatMap(({ retainedRecords = [] }) => retainedRecords)
  const expiring = personalData.flatMap((data) => data.expiring ?? [])

  // People, agents and tokens
  const settings = settingsModule(db)
  const tokens = tokensModule({
    ...{ db, pipeline, agentOf },
    profileOf: profileOf(db),
    notify: (tx, notice) => enqueueNotice(tx, { ...notice, at: clock.now().toISOString() }),
    agents: agentListing(db),
    purgeWindows: () => purgeExpiredWindows(db, new Date()),
  })
  const accounts = accountsModule({
    ...{ db, mail, pipeline, isOnRecord },
    publicUrl: origin,
    provider: openIdProvider(env)?.name,
    tries: limiter,
    markKey: keyFor('known sign-ins'),
    graceSignIn: env.KP_GRACE_SIGN_IN,
    unsuppress: suppressed.lift,
    networkOf: limitKeyOf,
    agentsOf: async (accountId) => (await ownedAgents(db)(accountId)).length,
    openRequestsOf: openRequestsOf(db),
    revokeAdminTokens: async (ctx, accountId, reason) =>
      tokens.useCases.tokens.revokeScoped(ctx, await agentsOfAccount(ctx.tx, accountId), 'admin', reason),
  })
  const people = accounts.useCases.accounts
  const networkKey = keyFor('networks of registrations')
  const agents = agentsModule({
    ...{ db, regions, strict, recordDeletion, createOrganisation, dropOrganisationIfEmpty },
    joinClade: (tx, joining) => joinClade(tx, joining, cladeMembers),
    registration: {
      mode: env.KP_REGISTRATION,
      explicitConsent: env.KP_EXPLICIT_CONSENT,
      lawfulBasis: env.KP_LAWFUL_BASIS,
      notice: { version: noticeVersion, url: `${origin}/privacy` },
    },
    tokens: tokens.useCases.tokens,
    contributedBy: contributedBy(db),
    async ownerFound(tx, agentId, ownerId, now) {
      await mergeVotes(tx, agentId, ownerId, now)
      await followAgent(tx, agentId)
    },
    accounts: people,
    graceTokens: env.KP_GRACE_TOKENS,
    isSuppressed: suppressed.among,
    onRetirement: [
      insureRetiredAgents,
      (tx, retirement) => leaveClade(tx, retirement, { recordDeletion, members: cladeMembers }),
    ],
    onRestriction: [recallOfRestricted],
    networkMark: (address) =>
      Uint8Array.from(createHmac('sha256', networkKey()).update(customerNetworkOf(address)).digest()),
  })
  const ownAgents = {
    own: (actor: Parameters<typeof ownAgent>[1], id: string) => ownAgent(db, actor, id),
    locked: ownAgentLocked,
    erasable: erasableAgent,
    writable: writableAgent(regions),
  }

  // Erasure
  const facts = {
    backupDays: env.KP_BACKUP_DAYS,
    requestsYears: env.KP_REQUESTS_YEARS,
    emailsInFolder: env.KP_SMTP_URL === undefined,
  }
  /** The common dependencies of the erasure engine and its replay. */
  const erasing = {
    ...{ db, ledger, signer, dataSources, facts, issuer: origin, now: clock.now },
    audit: log.auditWithin,
    suppressions: suppressed,
    holds: holdsInForce,
    subjects: erasureSubjects(agents.useCases.agents.unsuspend),
    parts: projectParts,
    words: runWords({ sources, namesOf }),
    residueIn: residueIn(stores, { hasOtherCheckpoints: env.KP_CHECKPOINTS_URL !== undefined }),
  }
  const engine = erasureEngine({
    ...erasing,
    interrupt,
    async notifyAdmins(tx, waiting, now) {
      for (const { accountId } of await people.adminContacts(tx))
        for (const { store, runs, since, refusal } of waiting) {
          const about = { accountId, store, runs, since: since.toISOString(), at: now.toISOString() }
          await enqueueNotice(
            tx,
            refusal === null ? { kind: 'store-unavailable', ...about } : { kind: 'store-refuses', ...about, refusal },
          )
        }
    },
    onChange: erasureChanges.publish,
  })
  const replay = replayErasures({
    ...erasing,
    restored: restoredRecord,
    ledgerLostAt,
    records: engine.records,
    complete: engine.runs.complete,
    keys: suppressionKeys,
  })
  const restored = restoredDatabase({ db, ledger, replay, replaysByItself })

  // Everything else, over the engine
  const retentionStores: RetentionStores = { db, clock, expiring, deletionRows, audit: log.auditWithin }
  const retention = retentionModule({
    stores: retentionStores,
    environment: {
      network: env.KP_RETENTION_NETWORK_DAYS,
      org: env.KP_RETENTION_ORG_DAYS,
      private: env.KP_RETENTION_PRIVATE_DAYS,
    },
  })
  const knowledge = knowledgeModule({
    ...{ db, chosenIds, strict, pseudonymOf, withdrawAnswers, withdrawNaming, periods: retention.periods },
    erasures: { ...engine.records, receiptFor: receiptFinder(db) },
    networkKey: keyFor('report networks'),
    names: recognise,
    erasedSubject: erasedSubjects({ ledger, backupDays: env.KP_BACKUP_DAYS }),
    noteItems: (id, holder, items) => ledger.append({ kind: 'items', id, holder, items }),
  })
  // A copy of the database has the same name for the bucket but a different data folder.
  const installation = async () =>
    stores.objects.provider === 'files'
      ? known.idOf('objects')
      : `${await known.idOf('objects')} ${await dataFolderMark(env.KP_DATA_DIR)}`
  const projects = projectsModule({
    ...{ db, stores, mail, erasedAmong, regions, installation, origin, replaceItems, itemsBeginning },
    objects: stores.objects,
    stored: stores,
    isSuppressed: suppressed.among,
    verifiedAddressOf: people.verifiedAddressOf,
    copyAskedFor: requestedCopy(db),
    accountWithAddress: async (tx, address) => (await people.byEmail(tx, address))?.accountId,
    contactOf: people.contactOf,
    erasures: engine.runs,
    complete: engine.runs.complete,
    patience: patience.erasure,
    pointerPrefixes: env.KP_POINTER_PREFIXES,
    limitsLifetimes: env.KP_CACHE_TTL_LIMIT,
    withCheckpoints: (tx, threads) => stores.checkpoints.present(threads, tx),
    foreignEpisodes: foreignEpisodes(stores.graph),
    hasEpisodes: async (tx, group) => (await stores.graph.episodes(group, '', 1, tx)).length > 0,
    participantExporters: requestParticipantExporters(db),
    shapes: { schemaVersion, zip: (head, parts, files) => zipArchive(head, parts, undefined, files) },
  })
  const exported = exportsModule({
    ...{ ...prepared, exporters, personExporters, dataSources, retainedRecords, erasedAgents },
    registeredOn: lawfulBases(db),
    selfHosted: selfHostedAmong(db),
    participationsOf: (accountId) => participationsOf(db.prisma, accountId),
    placeOf: (store) => storeLocationNamed(storeLocations, store, assessedLocations),
    quotaOf: async (id) => {
      const agent = await profileOf(db)(id)
      return agent ? tierLimits[agent.tier] : undefined
    },
    isAttributed: isAttributed(db),
    importers: [unitImporter({ strict, chosenIds, erasedAgents }), skillImporter({ strict, chosenIds })],
    personOf: async (accountId) => {
      const [found] = await organisationOfAccount(db, { id: accountId })
      return found && { organisationId: found.organisation_id, agents: await ownedAgents(db)(accountId) }
    },
  })
  const requests = privacyRequestsModule({
    ...{ db, pipeline, mail, subjectKey, origin, strict },
    people: {
      ...people,
      mayFileFor: async (tx, filer, member) =>
        (await people.sameOrganisation(tx, filer, member)) || (await ownsProjectOf(tx, filer, member)),
    },
    agents: agents.useCases.agents,
    participants: {
      find: actedFor(db),
      projectOf: projectOfParticipant,
      restrict: restrictParticipants,
      unrestrict: unrestrictParticipants,
      rectify: rectifyParticipant,
    },
    erasures: engine.runs,
    answersForPart: (ctx, part) => db.transaction((tx) => answersForPart({ ...ctx, tx }, part)),
    copies: exported.useCases.exports,
    async holdsOn(tx, subject, now) {
      const { account, agents: held } = await holdsInForce.inForce(tx, subject, now)
      return [...new Set([...(account === null ? [] : [account]), ...held.values()])]
    },
    countTry: (address, now) =>
      countTry(limiter, [{ key: `privacy-link:${limitKeyOf(address)}`, limit: requestLinkTriesPerMinute }], now),
    contactKey: keyFor(sealedPurposes.privacyContacts),
    retained: (now) =>
      retainedOfSubject(now, {
        isOfRequest: true,
        requestsYears: facts.requestsYears,
        held: [],
        letters: facts.emailsInFolder ? 'last' : 'none',
      }),
    graceTokens: env.KP_GRACE_TOKENS,
    graceSignIn: env.KP_GRACE_SIGN_IN,
    privacyEmail: env.KP_PRIVACY_EMAIL ?? null,
    requestsYears: env.KP_REQUESTS_YEARS,
  })
  erasureChanges.listen(requests.useCases.requests.erasureChanged)
  exportChanges.listen(requests.useCases.requests.copyChanged)
  if (platform.telemetry.isOn)
    erasureChanges.listen(async (tx, change) => {
      if (change.state !== 'done') return
      const run = await engine.runs.run(change.runId, tx)
      await reportCompletedErasures(tx, {
        of: change.part?.kind ?? 'subject',
        steps: Object.keys(change.erased).length,
        duration: durationOf(change.now.getTime() - (run?.createdAt ?? change.now).getTime()),
      })
    })
  const erasure = erasureModule({
    ...{ db, signer, ledger, engine, facts },
    ledgerFolder: ledgerFolder(env),
    runsRequestedBy: requests.useCases.requests.runsRequestedBy,
  })
  const fulfilled = fulfilledRegions(assessedLocations, regions.choosable)
  const emailJobs = [noticeJob, notifyJob, addressJob, notifyAdminJob]
  const modules = [
    accounts,
    agents,
    tokens,
    quotasModule({
      db,
      organisations: organisationDirectory,
      async warn(tx, organisationId, percent, now) {
        for (const accountId of await people.decidersOf(tx, organisationId))
          await enqueueNotice(tx, { kind: 'storage-warning', accountId, percent, at: now.toISOString() })
      },
    }),
    settings,
    knowledge,
    projects,
    auditModule(db, log),
    erasure,
    exported,
    retention,
    holdsModule({
      ...{ db, strict },
      exists: async (tx, kind, id) => {
        if (kind === 'account') return (await people.byId(tx, id)) !== undefined
        if (kind === 'project') return isProject(tx, id)
        return kind === 'agent' ? (await agentOf(tx, id)) !== null : await isStored(tx, kind, id)
      },
      onReleased: engine.runs.resumeHeld,
    }),
    requests,
    snapshotsModule({
      ...{ ...snapshotStorage, erasedAgents, isOfOthers, keyringOf, origin },
      restoreSettings: settingsRestorer({ hasEntries }),
      agents: { ...ownAgents, settingsOf: snapshotSettings },
      parts: snapshotParts([...lifeExporters(db), ...grimoireExporters(db, grimoireKey)]),
      restorers: [documentRestorer({ strict }), entryRestorer({ key: grimoireKey, grimoireDaysOf })],
      areObjectsOurs: () => isOurUpload({ objects: stores.objects, installation }),
    }),
    grimoireModule({ db, key: grimoireKey, agents: ownAgents, isSealedTo, recordDeletion }),
    cladesModule({
      ...{ db, key: cladeKey, namesOf, recognise, recordDeletion, issuer: origin },
      // Self-hosted agents may also share here.
      agents: { ...ownAgents, writable: sharingAgent(regions) },
      members: cladeMembers,
      entriesOf: entriesOf({ key: grimoireKey, grimoireDaysOf }),
      sign: signer.attest,
    }),
    llmLogModule({ db, key: llmLogKey, recognise, agents: ownAgents, recordDeletion }),
    consoleModule({
      dataSources,
      accounts: {
        newestSignIns: (account, sessionId) => newestSignIns(db, { account, current: sessionId ?? '' }),
      },
      agents: { summary: (ids) => agentSummary(db, ids) },
      tokens: {
        summary: (ids, span) => tokenSummary(db, ids, span),
        revokedByLimits: (since) => revokedByLimits(db, since),
      },
      requests: requests.useCases.requests,
      erasures: { active: (whose) => activeRuns(db, whose), open: engine.runs.open },
      receipts: erasure.receipts,
      exports: {
        active: (accountId, now) => activeExports(db, accountId, now),
        toFetch: (accountId, now) => exportsToFetch(db, accountId, now),
      },
      knowledge: {
        expiringSoon: async (owner, span) => expiringSoon(db, owner, await retention.periods(), span),
        quarantined: () => quarantined(db),
      },
      projects: { closingSoon: (owner, most) => closingSoon(db, owner, most) },
      holds: { ending: (span) => holdsEnding(db, span) },
      retention: { active: (now) => activeSweep(db, now) },
      mail: {
        undelivered: () => failedOnce(db, emailJobs),
        files: async () => (env.KP_SMTP_URL === undefined ? mail.folder.count() : null),
      },
    }),
    outboxModule({
      db,
      folder: mail.folder,
      delivery: storeLocations.mail,
      emailJobs: [...emailJobs, closingEmailJob],
      accountMarked: people.accountMarked,
    }),
    piiModule({ recognise }),
    storesModule({
      ...{ db, known, strict, stateOf: platform.stateOf },
      residency: env.KP_RESIDENCY ?? null,
      sites: assessSites(platform.sites, assessedLocations),
      emailsInFolder: storeLocations.mail === 'folder',
      projectsOutside: async (most) => ({
        total: await projectsInRegions(query, fulfilled),
        ids: await idsInRegions(query, fulfilled, most),
      }),
      agentsOutside: async (most) => ({
        total: await agentsInRegions(query, fulfilled),
        ids: await agentIdsInRegions(query, fulfilled, most),
      }),
    }),
    residencyModule({
      residency: env.KP_RESIDENCY,
      places: assessedLocations,
      choosable: regions.choosable,
      promised: { projects: projectsInRegions, agents: agentsInRegions },
    }),
    telemetryModule({
      db,
      telemetry: platform.telemetry,
      to: platform.telemetryTo && {
        host: new URL(platform.telemetryTo.host).host,
        region: assessedLocations.find(({ name }) => name === 'posthog')?.region ?? null,
      },
    }),
    idempotencyModule(db),
    { useCases: {}, jobs: queueJobs(db) },
  ] as const satisfies readonly DomainModule[]
  const operations = operationsOf(modules).map(({ operation }) => operation)
  const compliance = complianceModule({
    ...{ db, holders: dataSources, kept: retainedRecords, operations, usesOf },
    checks: modules.flatMap((module: DomainModule) => module.checks ?? []),
    installation: {
      places: storeLocations,
      telemetry: platform.telemetryTo === undefined ? 'none' : 'posthog',
      folders: [join(env.KP_DATA_DIR, 'mail'), exportsFolder(env), snapshotKeysFolder(env), ledgerFolder(env)],
      secretFile: env.KP_SECRET === undefined ? join(env.KP_DATA_DIR, 'secret') : null,
      oldestLetter: mail.folder.oldest,
      outboxRetention,
    },
  })
  const lookup = tokenLookup(db, clock)
  const metrics = createMetrics(() => [
    requestMeasures(db),
    erasureMeasures(db),
    retentionMeasures(db),
    llmLogMeasures(db),
    telemetryMeasures(platform.telemetry),
    limiterMeasures(limiter),
  ])
  const service = serviceUseCases({
    metrics,
    checks: storeChecks(assessSites(platform.sites, assessedLocations), platform.stateOf),
    operations: [...operations, ...operationsOf([compliance]).map(({ operation }) => operation)],
    version: packageJson.version,
    restored: restored.state,
    lateness: { llm_log: async () => isLate(await logLateness(db, clock.now())) },
  })
  const all = [...modules, compliance, { useCases: { service } }] as const
  const named = mergeUseCases(all)
  const entryPoints = createEntryPoints({
    ...{ db, clock, env, pipeline, limiter, lookup, metrics, origin, overheard, restored },
    secret: platform.secret,
    accounts: people,
    settings: settings.useCases.settings,
    tokens: tokens.useCases.tokens,
    telemetry: platform.telemetry,
    admissionPatience: patience.admission,
  })

  return {
    ...named,
    useCases: operationsOf(all),
    /** Stores by name, for server code. */
    stores: {
      ...retentionStores,
      auditLog: {
        query: ({ agentId, action, from, to }: AuditQuestion) =>
          named.audit.query({ agent_id: agentId, action, from, to }, clock.now()),
      },
    },
    jobs: modules.flatMap((module: DomainModule) => module.jobs ?? []),
    dataSources,
    exporters,
    personExporters,
    retainedRecords,
    expiring,
    storeLocations,
    assessedLocations,
    regions,
    /** Stores outside our own tables for data derived from people's messages. */
    stored: stores,
    db,
    pipeline,
    env,
    erasures: engine.records,
    subjectErasures: engine.runs,
    replayErasures: replay,
    /** Whether the database has every erasure of the ledger. */
    restored,
    signer,
    suppressionKeys,
    ledger,
    mail,
    /** The telemetry service; `telemetry` is the domain's use cases. */
    telemetryOf: platform.telemetry,
    ...entryPoints,
    openApi: service.documented,
    /** Writes collected data and closes every connection. */
    async close(): Promise<void> {
      await platform.telemetry.close()
      await retention.useCases.retention.stop()
      await lookup.close()
      await named.tokens.use.close()
      await log.drain()
      await ledger.close()
      await limiter.close()
      mail.close()
      await stores.close()
      await db.close()
    },
  }
}
export type App = ReturnType<typeof createApp>
