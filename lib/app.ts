import packageJson from '../package.json' with { type: 'json' }
import { purgeExpiredWindows } from './access/limiter-postgres.ts'
import { consolePorts } from './console-ports.ts'
import { accountHolder, sessionHolder, signInHolder } from './domains/accounts/holders.ts'
import { accountsJobs } from './domains/accounts/jobs.ts'
import { identityHolder, linkHolder } from './domains/accounts/link-holders.ts'
import { noticeJob } from './domains/accounts/notices.ts'
import { accountExporters, organisationOf } from './domains/accounts/person-exporters.ts'
import { dropOrganisationIfEmpty } from './domains/accounts/service.ts'
import { agentExporters } from './domains/agents/exporters.ts'
import { agentHolder } from './domains/agents/holders.ts'
import { agentIdsInEu, agentsInEu } from './domains/agents/in-region.ts'
import { agentsJobs } from './domains/agents/jobs.ts'
import { agentsKept } from './domains/agents/kept.ts'
import { lifeExporters } from './domains/agents/life/exporters.ts'
import { lifeHolders } from './domains/agents/life/holders.ts'
import { lifeJobs } from './domains/agents/life/jobs.ts'
import { documentRestorer, restoreSettings } from './domains/agents/life/restoring.ts'
import { erasableAgent, ownAgent, ownAgentLocked, sharingAgent, writableAgent } from './domains/agents/life/whose.ts'
import { agentListing } from './domains/agents/listing.ts'
import { ownedAgents } from './domains/agents/owned.ts'
import { agentOf } from './domains/agents/rows.ts'
import { auditExporters, auditPersonExporters } from './domains/audit/exporters.ts'
import { savedSearchHolder } from './domains/audit/holders.ts'
import { auditJobs } from './domains/audit/jobs.ts'
import { auditKept } from './domains/audit/kept.ts'
import { auditService } from './domains/audit/service.ts'
import { cladeExporters } from './domains/clades/exporters.ts'
import { cladeHolders } from './domains/clades/holders.ts'
import { cladeJobs } from './domains/clades/jobs.ts'
import { cladesService } from './domains/clades/service.ts'
import { complianceService } from './domains/compliance/service.ts'
import { consoleService } from './domains/console/service.ts'
import { recordDeletion } from './domains/erasure/deletion-log.ts'
import { erasureExporters } from './domains/erasure/exporters.ts'
import { formerOwnerHolder } from './domains/erasure/holders.ts'
import { erasureJobs } from './domains/erasure/jobs.ts'
import { erasureKept } from './domains/erasure/kept.ts'
import { erasurePersonExporters, erasureRunExporters } from './domains/erasure/person-exporters.ts'
import { replaceItems } from './domains/erasure/planned-items.ts'
import { receiptPdfReader } from './domains/erasure/receipt-pdf.ts'
import { exportExporters } from './domains/exports/exporters.ts'
import { exportFilesHolder, exportRunsHolder } from './domains/exports/holders.ts'
import { exportJobs } from './domains/exports/jobs.ts'
import { exportPersonExporters } from './domains/exports/person-exporters.ts'
import { preparation } from './domains/exports/preparation.ts'
import { exportUpkeep } from './domains/exports/upkeep.ts'
import { entriesOf } from './domains/grimoire/entries.ts'
import { grimoireExporters } from './domains/grimoire/exporters.ts'
import { entryHolder, keyringHolder } from './domains/grimoire/holders.ts'
import { grimoireJobs } from './domains/grimoire/jobs.ts'
import { entryRestorer } from './domains/grimoire/restoring.ts'
import { grimoireService } from './domains/grimoire/service.ts'
import { holdsInForce } from './domains/holds/in-force.ts'
import { holdsKept } from './domains/holds/kept.ts'
import { holdsService } from './domains/holds/service.ts'
import { idempotencyHolder, withdrawNaming } from './domains/idempotency/holders.ts'
import { idempotencyJobs } from './domains/idempotency/jobs.ts'
import { withdrawAnswers } from './domains/idempotency/records.ts'
import { knowledgeExpiry } from './domains/knowledge/expiry.ts'
import { knowledgeExporters } from './domains/knowledge/exporters.ts'
import { isStored } from './domains/knowledge/held.ts'
import { heldAuthors } from './domains/knowledge/held-authors.ts'
import { unitHolder } from './domains/knowledge/holders.ts'
import { inspection } from './domains/knowledge/inspection.ts'
import { knowledgeJobs } from './domains/knowledge/jobs.ts'
import { records } from './domains/knowledge/records.ts'
import { referencesHolder } from './domains/knowledge/references-held.ts'
import { rejectionsHolder } from './domains/knowledge/rejections-held.ts'
import { reputationHolder } from './domains/knowledge/reputation/holders.ts'
import { reputationService } from './domains/knowledge/reputation/service.ts'
import { safetyService } from './domains/knowledge/safety.ts'
import { searchJobs } from './domains/knowledge/search/jobs.ts'
import { searchService } from './domains/knowledge/search/service.ts'
import { wordsHolder } from './domains/knowledge/search/words-held.ts'
import { knowledgeService } from './domains/knowledge/service.ts'
import { skillHolder } from './domains/knowledge/skills/holders.ts'
import { skillsService } from './domains/knowledge/skills/service.ts'
import { sopsService } from './domains/knowledge/sops/service.ts'
import { saidHolders } from './domains/knowledge/votes-held.ts'
import { llmLogExporters } from './domains/llm-log/exporters.ts'
import { exchangeHolder } from './domains/llm-log/holders.ts'
import { llmLogJobs } from './domains/llm-log/jobs.ts'
import { isLate, logLateness } from './domains/llm-log/lateness.ts'
import { llmLogService } from './domains/llm-log/service.ts'
import { outboxService } from './domains/outbox/service.ts'
import { piiService } from './domains/pii/service.ts'
import { withheldWhile } from './domains/pii/withholding.ts'
import { requestExporters, requestPersonExporters } from './domains/privacy-requests/exporters.ts'
import { requestHolder } from './domains/privacy-requests/holders.ts'
import { isOnFile } from './domains/privacy-requests/open-count.ts'
import { privacyRequestsJobs } from './domains/privacy-requests/service.ts'
import { addressJob, notifyJob, tellAdminJob } from './domains/privacy-requests/timeline.ts'
import { cacheHolder } from './domains/projects/cache/holder.ts'
import { threadDropping } from './domains/projects/checkpoints/dropping.ts'
import { checkpointsHolder } from './domains/projects/checkpoints/holder.ts'
import { letterJob, projectJobs } from './domains/projects/closing/jobs.ts'
import { isProject } from './domains/projects/erasing/parts.ts'
import { partErasures } from './domains/projects/erasing/service.ts'
import { projectExporters, projectPersonExporters } from './domains/projects/exporters.ts'
import { graphExporters, graphPersonExporters } from './domains/projects/graph/exporters.ts'
import { graphHolder } from './domains/projects/graph/holder.ts'
import { idsInEu, projectsInEu } from './domains/projects/in-region.ts'
import { objectsHolder } from './domains/projects/objects/holder.ts'
import { documentHolder, messageHolder } from './domains/projects/rows/authored.ts'
import { conversationHolder, projectHolder } from './domains/projects/rows/containers.ts'
import { projectReferencesHolder } from './domains/projects/rows/references-held.ts'
import { memberHolder } from './domains/projects/rows/taking-part.ts'
import { isOurs } from './domains/projects/uploads.ts'
import { hindering } from './domains/residency/rules.ts'
import { retentionJobs } from './domains/retention/jobs.ts'
import { retentionKept } from './domains/retention/kept.ts'
import { periodsOf } from './domains/retention/rules.ts'
import { settingsKept } from './domains/settings/kept.ts'
import { snapshotExporters } from './domains/snapshots/exporters.ts'
import { snapshotHolders } from './domains/snapshots/holders.ts'
import { snapshotKeys } from './domains/snapshots/key-files.ts'
import { snapshotParts } from './domains/snapshots/parts.ts'
import type { SnapshotPorts } from './domains/snapshots/ports.ts'
import { snapshotsService } from './domains/snapshots/service.ts'
import { isSealedTo } from './domains/snapshots/terms.ts'
import { storesKept } from './domains/stores/kept.ts'
import { storesService } from './domains/stores/service.ts'
import { telemetryExporters, telemetryPersonExporters } from './domains/telemetry/exporters.ts'
import { telemetryKeyHolder } from './domains/telemetry/holders.ts'
import { telemetryJobs } from './domains/telemetry/jobs.ts'
import { telemetryService } from './domains/telemetry/service.ts'
import { tokenAdmin } from './domains/tokens/admin.ts'
import { tokenExporters } from './domains/tokens/exporters.ts'
import { tokenHolder } from './domains/tokens/holders.ts'
import { tokensJobs } from './domains/tokens/jobs.ts'
import { createDoors } from './doors.ts'
import { type Env, openIdProvider, readEnv } from './env.ts'
import { evidenceOf } from './evidence.ts'
import { serviceUseCases } from './http/service.ts'
import { queueHolder } from './jobs/holders.ts'
import { queueJobs } from './jobs/upkeep.ts'
import { type Clock, systemClock } from './kernel/clock.ts'
import type { Actor } from './kernel/context.ts'
import type { AskDatabase } from './kernel/evidence.ts'
import type { DataHolder, Expiring, Exporter, Kept, PersonExporter } from './kernel/holder.ts'
import type { RunnableJob } from './kernel/job.ts'
import type { AuditAction } from './kernel/operation.ts'
import { isUseCase, type UseCase } from './kernel/use-case.ts'
import { lazily } from './lazily.ts'
import type { Offer } from './observed.ts'
import { judgedSites, snapshotKeysFolder } from './places.ts'
import { deriveKey, sealedPurposes } from './secret.ts'
import { createServices } from './services.ts'
import { storeChecks } from './store-states.ts'
import { letterHolder } from './stores/mail/letters-held.ts'
import type { Database } from './stores/postgres/database.ts'

/** What code on the server asks the audit log; times inclusive. */
export interface AuditQuestion {
  agentId?: string
  action?: AuditAction
  from?: Date
  to?: Date
}
export interface AppOptions {
  env: Env
  clock?: Clock
  /** For tests: called at named points of an erasure, to end it there as a crash would. */
  interrupt?: (point: string) => void
  /** For tests: holders beside our own. */
  moreHolders?: (db: Database) => DataHolder[]
  /** For tests: is offered what telemetry would be, where it is off. */
  overheard?: Offer
}

/** What a domain is to the rest: what it offers, what it does by the clock, and what it answers for. */
interface Domain {
  offers: object
  jobs?: RunnableJob[]
  holders?: DataHolder[]
  exporters?: Exporter[]
  personExporters?: PersonExporter[]
  /** What stays whatever is erased. */
  kept?: Kept[]
  expiring?: Expiring[]
}

/** Connects services, domains and doors; lists operations, jobs and holders. Opens no connection before the first request. */
export function createApp({
  env,
  clock = systemClock,
  interrupt = () => {},
  moreHolders = () => [],
  overheard,
}: AppOptions) {
  const services = createServices({ env, clock, interrupt })
  const {
    accounts,
    agents,
    db,
    engine,
    erasedOf,
    erasures,
    expiring,
    exported,
    exporters,
    gate,
    holders,
    isSuppressed,
    judged,
    kept,
    known,
    ledger,
    limiter,
    log,
    lookup,
    mail,
    metrics,
    origin,
    personExporters,
    places,
    prepared,
    privacy,
    projectPorts,
    projects,
    pseudonymOf,
    receipts,
    replay,
    requests,
    retention,
    retentionStores,
    secret,
    settings,
    signer,
    sites,
    sources,
    presidio,
    stateOf,
    stores,
    suppressionKeys,
    telemetry,
    telemetryKey,
    telemetryTo,
    tokens,
  } = services

  const grimoireKey = lazily(() => deriveKey(secret(), sealedPurposes.grimoire))
  const cladeKey = lazily(() => deriveKey(secret(), sealedPurposes.clades))
  /** Of the whole database: what is counted, and who is named. */
  const query: AskDatabase = <R extends Record<string, unknown>>(text: string, values?: readonly unknown[]) =>
    db.query<R>(undefined, text, values)
  const names =
    presidio &&
    (hindering('eu', judged).includes('presidio')
      ? withheldWhile(async () => (await agentsInEu(query)) > 0, presidio.recognise)
      : presidio.recognise)
  const llmLogKey = lazily(() => deriveKey(secret(), sealedPurposes.llmLog))

  /** The actor's agents, as other domains ask for them. */
  const ownAgents = {
    own: (actor: Actor, id: string) => ownAgent(db, actor, id),
    locked: ownAgentLocked,
    erasable: erasableAgent,
    writable: writableAgent,
  }
  const snapshotPorts: SnapshotPorts = {
    db,
    objects: stores.objects,
    keys: snapshotKeys({
      folder: snapshotKeysFolder(env),
      used: () => known.used('snapshot_keys'),
      whatIsMissing: known.missing('snapshot_keys'),
    }),
    agents: ownAgents,
    parts: snapshotParts([...lifeExporters(db), ...grimoireExporters(db, grimoireKey)]),
    restorers: [documentRestorer({ strict: env.KP_SANITIZER_STRICT }), entryRestorer(grimoireKey)],
    restoreSettings,
    erasedOf,
    areObjectsOurs: () => isOurs(projectPorts),
    origin,
  }
  const snapshots = snapshotsService(snapshotPorts)

  // A new domain is one line here: what it offers, what it does by the clock, what it answers for.
  const domains = {
    accounts: {
      offers: accounts,
      jobs: accountsJobs(db, mail, {
        publicUrl: origin,
        provider: openIdProvider(env)?.name,
        isOnRecord: async (tx, accountId) =>
          (await isOnFile(tx, accountId)) ||
          (await holdsInForce.inForce(tx, { account: accountId, agents: [] }, clock.now())).account !== null,
      }),
      personExporters: accountExporters(db),
    },
    agents: {
      offers: agents,
      jobs: [...agentsJobs({ dropOrganisationIfEmpty, recordDeletion }), ...lifeJobs({ recordDeletion })],
      exporters: [...agentExporters(db), ...lifeExporters(db)],
      holders: lifeHolders(db),
      kept: agentsKept(db),
    },
    tokens: {
      offers: tokens,
      jobs: tokensJobs({ purgeWindows: () => purgeExpiredWindows(db.pool, new Date()) }),
      exporters: tokenExporters(db),
    },
    tiers: { offers: tokenAdmin(db, { agents: agentListing(db), inUse: tokens.inUse }) },
    settings: { offers: settings, kept: settingsKept(db) },
    safety: { offers: safetyService(db) },
    // Before knowledge: words are taken out while the rows that have them are there.
    search: { offers: searchService(db), jobs: searchJobs(db), holders: [wordsHolder(db)] },
    knowledge: {
      offers: knowledgeService({
        db,
        erasures,
        strict: env.KP_SANITIZER_STRICT,
        withdrawAnswers,
        withdrawNaming,
        isSuppressed,
        networkKey: lazily(() => deriveKey(secret(), 'report networks')),
        names,
      }),
      jobs: knowledgeJobs(db),
      expiring: knowledgeExpiry(db),
      exporters: knowledgeExporters(db),
      holders: [
        ...saidHolders(db),
        referencesHolder(db, { withdrawAnswers, pseudonymOf }),
        rejectionsHolder(db),
        unitHolder(db, { withdrawNaming }),
      ],
    },
    skills: {
      offers: skillsService({ db, erasures, strict: env.KP_SANITIZER_STRICT, withdrawAnswers, isSuppressed, names }),
      holders: [skillHolder(db, { withdrawNaming })],
    },
    inspection: {
      offers: {
        ...inspection({ db, erasures, periods: async () => periodsOf(await retention.policyNow()) }),
        ...records({ db, periods: async () => periodsOf(await retention.policyNow()) }),
      },
    },
    // Rows go after everything that was made of them; projects after what is in them.
    projects: {
      offers: projects,
      jobs: projectJobs(projectPorts, mail),
      exporters: [...projectExporters(db), ...graphExporters(db, stores.graph)],
      personExporters: [...projectPersonExporters(db), ...graphPersonExporters(db, stores.graph)],
      holders: [
        cacheHolder({ db, cache: stores.cache, sources, whatIsMissing: known.missing('cache') }),
        graphHolder({
          db,
          graph: stores.graph,
          sources,
          whatIsMissing: known.missing('graph'),
          namesOf: async (tx, id) => {
            const found = await accounts.contactOf(tx, id)
            return found ? [found.name, found.email] : []
          },
        }),
        objectsHolder({ db, objects: stores.objects, sources, whatIsMissing: known.missing('objects') }),
        // Before the messages: what was made from one is found by it.
        documentHolder(db, { withdrawNaming }),
        messageHolder(db, { withdrawNaming }),
        conversationHolder(db, { withdrawNaming }),
        memberHolder(db),
        projectHolder(db, { withdrawNaming }),
        projectReferencesHolder(db, { pseudonymOf }),
      ],
    },
    reputation: { offers: reputationService(db), holders: [reputationHolder(db)] },
    sops: {
      offers: sopsService({ db, erasures, strict: env.KP_SANITIZER_STRICT, withdrawAnswers, isSuppressed, names }),
    },
    audit: {
      offers: auditService(db),
      jobs: auditJobs(db, log),
      exporters: auditExporters(db),
      personExporters: auditPersonExporters(db),
      holders: [savedSearchHolder(db)],
      kept: auditKept(db),
    },
    receipts: {
      offers: {
        ...erasures.receipts,
        pdf: receiptPdfReader(erasures.receipts.read),
        own: receipts.list,
        standing: receipts.standing,
      },
      jobs: erasureJobs(erasures, engine),
      exporters: [...erasureExporters(db), ...erasureRunExporters(db)],
      personExporters: erasurePersonExporters(db),
      holders: [formerOwnerHolder(db)],
      kept: erasureKept(db),
    },
    checkpoints: {
      offers: threadDropping({ erasures: engine, replaceItems }),
      holders: [
        checkpointsHolder({ db, store: stores.checkpoints, sources, whatIsMissing: known.missing('checkpoints') }),
      ],
    },
    erasing: { offers: partErasures({ erasures: engine, complete: engine.complete }) },
    exports: {
      offers: exported,
      jobs: exportJobs(
        preparation({
          ...prepared,
          clock,
          exporters,
          personExporters,
          personOf: async (accountId) => {
            const organisationId = await organisationOf(db)(accountId)
            if (organisationId === undefined) return undefined
            return { organisationId, agents: await ownedAgents(db)(accountId) }
          },
        }),
        exportUpkeep({ ...prepared, clock }),
      ),
      exporters: exportExporters(db),
      personExporters: exportPersonExporters(db),
      holders: [exportFilesHolder({ ...prepared, clock }), exportRunsHolder(db)],
    },
    retention: { offers: retention, jobs: retentionJobs(retention), kept: retentionKept(db) },
    holds: {
      offers: holdsService({
        db,
        strict: env.KP_SANITIZER_STRICT,
        exists: async (tx, kind, id) => {
          if (kind === 'account') return (await accounts.byId(tx, id)) !== undefined
          if (kind === 'project') return isProject(tx, id)
          return kind === 'agent' ? (await agentOf(tx, id)) !== null : await isStored(tx, kind, id)
        },
        onReleased: engine.resumeHeld,
      }),
      kept: holdsKept(db),
    },
    mail: {
      offers: {},
      holders: [
        letterHolder({
          folder: mail.folder,
          addressOf: async (id, tx = db.prisma) => (await accounts.contactOf(tx, id))?.email,
        }),
      ],
    },
    requests: {
      offers: requests,
      jobs: privacyRequestsJobs(privacy, mail),
      exporters: requestExporters(db),
      personExporters: requestPersonExporters(db),
      holders: [requestHolder(privacy)],
    },
    console: { offers: consoleService(consolePorts({ ...services, hasMailServer: env.KP_SMTP_URL !== undefined })) },
    outbox: {
      offers: outboxService({
        db,
        folder: mail.folder,
        delivery: places.mail,
        letterJobs: [noticeJob, notifyJob, addressJob, tellAdminJob, letterJob],
        accountMarked: accounts.accountMarked,
      }),
    },
    pii: { offers: piiService({ recognise: names }) },
    residency: {
      offers: storesService({
        db,
        known,
        residency: env.KP_RESIDENCY ?? null,
        sites: judgedSites(sites, judged),
        stateOf,
        lettersInFolder: places.mail === 'folder',
        projectsInEu: async (most) => ({ total: await projectsInEu(query), ids: await idsInEu(query, most) }),
        agentsInEu: async (most) => ({ total: await agentsInEu(query), ids: await agentIdsInEu(query, most) }),
        strict: env.KP_SANITIZER_STRICT,
      }),
      kept: storesKept(db),
    },
    compliance: {
      offers: complianceService({
        db,
        checks: evidenceOf({
          env,
          signer,
          retention,
          expiring,
          mail,
          places,
          judged,
          holders: () => holders,
          kept: () => kept,
          operations: () => useCases.map(({ operation }) => operation),
        }),
      }),
    },
    // Their keys are the first to be destroyed, and their rows go before the keyring that they are sealed to.
    snapshots: {
      ...snapshots,
      exporters: snapshotExporters(db),
      holders: snapshotHolders({ ...snapshotPorts, whatIsMissing: known.missing('objects') }),
    },
    grimoire: {
      offers: grimoireService({
        db,
        key: grimoireKey,
        agents: ownAgents,
        isSealedTo,
      }),
      jobs: grimoireJobs({ recordDeletion }),
      exporters: grimoireExporters(db, grimoireKey),
      // The keyring after everything that is sealed to it.
      holders: [entryHolder(db), keyringHolder(db)],
    },
    clades: {
      offers: cladesService({
        db,
        key: cladeKey,
        // What it shares, a self-hosted one shares here, too.
        agents: { ...ownAgents, writable: sharingAgent },
        entriesOf: entriesOf(grimoireKey),
        namesOf: async (tx, ownerId) => {
          const found = await accounts.contactOf(tx ?? db.prisma, ownerId)
          return found ? [found.name, found.email] : []
        },
        recognise: names,
        sign: signer.attest,
        issuer: origin,
      }),
      jobs: cladeJobs({ recordDeletion }),
      exporters: cladeExporters(db, cladeKey),
      holders: cladeHolders(db),
    },
    llmLog: {
      offers: llmLogService({
        db,
        key: llmLogKey,
        recognise: names,
        agents: ownAgents,
      }),
      jobs: llmLogJobs({ db, recordDeletion }),
      exporters: llmLogExporters(db, llmLogKey),
      holders: [exchangeHolder(db)],
    },
    telemetry: {
      offers: telemetryService({
        to: telemetryTo && {
          host: new URL(telemetryTo.host).host,
          region: judged.find(({ name }) => name === 'posthog')?.region ?? null,
        },
      }),
      jobs: telemetryJobs({ db, telemetry }),
      exporters: telemetryExporters(db, telemetryKey),
      personExporters: telemetryPersonExporters(db, telemetryKey),
      holders: [telemetryKeyHolder(db)],
    },
    queue: { offers: {}, jobs: queueJobs(db), holders: [queueHolder(db)] },
    idempotency: { offers: {}, jobs: idempotencyJobs(db), holders: [idempotencyHolder(db)] },
    // The last: who somebody is finds the rest.
    identity: {
      offers: {},
      holders: [
        tokenHolder(db),
        agentHolder(db, { heldAuthors, dropOrganisationIfEmpty }),
        sessionHolder(db),
        signInHolder(db),
        linkHolder(db),
        identityHolder(db),
        accountHolder(db),
      ],
    },
  } satisfies Record<string, Domain>

  const service = serviceUseCases(
    metrics,
    storeChecks(judgedSites(sites, judged), stateOf),
    () => useCases.map(({ operation }) => operation),
    packageJson.version,
    { llm_log: async () => isLate(await logLateness(db, clock.now())) },
  )
  holders.push(...moreHolders(db))
  for (const domain of Object.values<Domain>(domains)) {
    holders.push(...(domain.holders ?? []))
    exporters.push(...(domain.exporters ?? []))
    personExporters.push(...(domain.personExporters ?? []))
    kept.push(...(domain.kept ?? []))
    expiring.push(...(domain.expiring ?? []))
  }
  const offered = [...Object.values(domains).map(({ offers }) => offers), service]
  const useCases: UseCase[] = offered.flatMap((offers) => Object.values(offers).filter(isUseCase))

  const doors = createDoors({ ...services, env, clock, overheard })

  return {
    ...(Object.fromEntries(Object.entries(domains).map(([name, { offers }]) => [name, offers])) as {
      [D in keyof typeof domains]: (typeof domains)[D]['offers']
    }),
    service,
    useCases,
    /** Stores by name, for code on the server. */
    stores: {
      ...retentionStores,
      auditLog: {
        query: ({ agentId, action, from, to }: AuditQuestion) =>
          domains.audit.offers.query({ agent_id: agentId, action, from, to }, clock.now()),
      },
    },
    jobs: Object.values<Domain>(domains).flatMap(({ jobs = [] }) => jobs),
    holders,
    exporters,
    personExporters,
    kept,
    expiring,
    places,
    judged,
    /** What keeps what came of people’s words beside our tables. */
    stored: stores,
    db,
    gate,
    env,
    erasures,
    subjectErasures: engine,
    replayErasures: replay,
    signer,
    suppressionKeys,
    ledger,
    mail,
    /** What is told of use; the domain's own use-cases are `telemetry`. */
    telemetryOf: telemetry,
    ...doors,
    openApi: service.documented,
    /** Writes what is gathered and lets go of every connection. */
    async close(): Promise<void> {
      await telemetry.close()
      await retention.stop()
      await lookup.close()
      await tokens.use.close()
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

declare global {
  var knowledgePulse: App | undefined
}
// The front and Next's bundle each load this file; one process has one application, so that its limits and its connections are one.
globalThis.knowledgePulse ??= createApp({ env: readEnv() })
export const app: App = globalThis.knowledgePulse
export const route: App['route'] = app.route
