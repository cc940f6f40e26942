import { createHmac } from 'node:crypto'
import { customerNetworkOf, limitKeyOf } from './access/client-address.ts'
import { limiterMeasures } from './access/limiter-measures.ts'
import { openLimiter } from './access/limits.ts'
import { tokenLookup } from './access/token-lookup.ts'
import { erasureSubjects } from './app/erasure-subjects.ts'
import { dataFolderMark } from './data-folder.ts'
import { enqueueNotice } from './domains/accounts/notices.ts'
import { accountsService, createOrganisation, dropOrganisationIfEmpty } from './domains/accounts/service.ts'
import { countTry } from './domains/accounts/tries.ts'
import { lawfulBases, ownedAgents, selfHostedAmong } from './domains/agents/owned.ts'
import { agentOf, profileOf } from './domains/agents/rows.ts'
import { noticeVersion } from './domains/agents/rules.ts'
import { agentsService } from './domains/agents/service.ts'
import { auditLog } from './domains/audit/log.ts'
import { joinClade, leaveClade, recallOfRestricted } from './domains/clades/joining.ts'
import { deletionRows, recordDeletion } from './domains/erasure/deletion-log.ts'
import { erasedAmong } from './domains/erasure/erased-ids.ts'
import { erasureMeasures } from './domains/erasure/measures.ts'
import { ownReceipts } from './domains/erasure/own-receipts.ts'
import { replayErasures } from './domains/erasure/replay.ts'
import { restoredDatabase } from './domains/erasure/restored-database.ts'
import { retainedOfSubject } from './domains/erasure/rules.ts'
import { erasureService } from './domains/erasure/service.ts'
import { createSigner } from './domains/erasure/signing.ts'
import { subjectEngine } from './domains/erasure/subject-engine.ts'
import { createSuppressionKeys } from './domains/erasure/suppression-keys.ts'
import { suppressions } from './domains/erasure/suppressions.ts'
import { zipArchive } from './domains/exports/archive.ts'
import { exportFiles } from './domains/exports/export-files.ts'
import type { PreparedPorts } from './domains/exports/prepared.ts'
import { schemaVersion } from './domains/exports/rules.ts'
import { exportsService } from './domains/exports/service.ts'
import { holdsInForce } from './domains/holds/in-force.ts'
import { idempotencyRecords } from './domains/idempotency/records.ts'
import { mergeVotes } from './domains/knowledge/claimed-votes.ts'
import { contributedBy } from './domains/knowledge/contributed.ts'
import { isAttributed } from './domains/knowledge/exporters.ts'
import { unitImporter } from './domains/knowledge/imports.ts'
import { pseudonyms } from './domains/knowledge/pseudonym.ts'
import { restoredRecord } from './domains/knowledge/restored.ts'
import { skillImporter } from './domains/knowledge/skills/imports.ts'
import type { IsSuppressed } from './domains/knowledge/suppression.ts'
import { llmLogMeasures } from './domains/llm-log/lateness.ts'
import { copyAskedFor } from './domains/privacy-requests/copy-asked-for.ts'
import { requestParticipantExporters } from './domains/privacy-requests/exporters.ts'
import { requestMeasures } from './domains/privacy-requests/measures.ts'
import { isOnFile, openRequestsOf } from './domains/privacy-requests/open-count.ts'
import type { PrivacyParts } from './domains/privacy-requests/ports.ts'
import { linkTriesPerMinute } from './domains/privacy-requests/rules.ts'
import { privacyRequestsService } from './domains/privacy-requests/service.ts'
import { answersForPart, projectParts } from './domains/projects/erasing/parts.ts'
import { participantExporters } from './domains/projects/exporters.ts'
import { gatheredSources } from './domains/projects/gathered-sources.ts'
import { graphParticipantExporters } from './domains/projects/graph/exporters.ts'
import { foreignEpisodes } from './domains/projects/graph/foreign-episodes.ts'
import { followAgent } from './domains/projects/moving.ts'
import {
  actedFor,
  ownsProjectOf,
  projectOfParticipant,
  rectifyParticipant,
} from './domains/projects/participants/acting.ts'
import { restrictParticipants, unrestrictParticipants } from './domains/projects/participants/restricting.ts'
import { participationsOf } from './domains/projects/participants/seizing.ts'
import type { ProjectPorts } from './domains/projects/ports.ts'
import { projectsService } from './domains/projects/service.ts'
import { runWords } from './domains/projects/words/run-words.ts'
import { hindering, parseDataRegions, regionsAround } from './domains/residency/rules.ts'
import { retentionMeasures } from './domains/retention/measures.ts'
import type { RetentionStores } from './domains/retention/retention-manager.ts'
import { retentionService } from './domains/retention/service.ts'
import { settingsService } from './domains/settings/service.ts'
import { insureTheDead } from './domains/snapshots/terms.ts'
import { knownStores } from './domains/stores/known.ts'
import { telemetry as telemetryOf } from './domains/telemetry/capture.ts'
import { durationOf } from './domains/telemetry/events.ts'
import { tellCompleted } from './domains/telemetry/jobs.ts'
import { telemetryMeasures } from './domains/telemetry/measures.ts'
import { pseudonyms as telemetryPseudonyms } from './domains/telemetry/pseudonyms.ts'
import { tierLimits } from './domains/tokens/rules.ts'
import { tokensService } from './domains/tokens/service.ts'
import { type Env, publicUrl, telemetryTarget } from './env.ts'
import { createMetrics } from './http/metrics.ts'
import type { Clock } from './kernel/clock.ts'
import type { GatePorts } from './kernel/context.ts'
import type { DataRegions } from './kernel/data-regions.ts'
import { logFault, logNotice } from './kernel/fault-log.ts'
import type { DataHolder, Expiring, Exporter, Kept, PersonExporter } from './kernel/holder.ts'
import { lazily } from './kernel/lazily.ts'
import { exportsFolder, judgedPlaces, placeNamed, placesOf, refuseOutside, sitesOf } from './places.ts'
import { deriveKey, installationSecret, sealedPurposes, subjectPurpose } from './secret.ts'
import { storeStates } from './store-states.ts'
import { fileLedger, ledgerFolder, noted } from './stores/ledger/ledger.ts'
import { lingeringIn } from './stores/lingering.ts'
import { openMail } from './stores/mail/mail.ts'
import { openDatabase } from './stores/postgres/database.ts'
import { openPostHog } from './stores/posthog.ts'
import { openPresidio } from './stores/presidio.ts'
import { isEmptyStore, openStores, rememberedStores } from './stores-opened.ts'

/** How many milliseconds a request waits, if different from the default. */
export interface Patience {
  /** For the erasure that it began. */
  erasure?: number
  /** For a connection to the database. */
  connection?: number
  /** For the store of the rate limits. */
  limits?: number
  /** For other erasures or registrations to end. */
  admission?: number
}

export interface ServiceOptions {
  env: Env
  clock: Clock
  /** Called at named points of an erasure. */
  interrupt(point: string): void
  patience?: Patience
  /** See {@link restoredDatabase}. */
  replaysByItself?: boolean
}

/**
 * Opens the stores and builds the services of the domains with their dependencies on each other. No store is used before the first
 * request. The lists that all domains contribute to are empty until lib/app.ts fills them.
 */
export function createServices({ env, clock, interrupt, patience = {}, replaysByItself = false }: ServiceOptions) {
  refuseOutside(env)
  const db = openDatabase(env.DATABASE_URL ?? 'postgresql://localhost/knowledgepulse', {
    isGuarded: env.NODE_ENV !== 'production',
    ...(patience.connection !== undefined && { patience: patience.connection }),
  })
  const secret = lazily(() => installationSecret(env.KP_DATA_DIR, env.KP_SECRET))
  const origin = publicUrl(env)
  const places = placesOf(env)
  const sites = sitesOf(env)
  const judged = judgedPlaces(env)
  const choosable = parseDataRegions(env.KP_DATA_REGIONS)
  const regions: DataRegions = { choosable, hindering: (region) => hindering(region, judged) }
  const known = knownStores({ db, clock, connected: rememberedStores(env, sites), isEmpty: isEmptyStore })
  const ledger = noted(fileLedger(ledgerFolder(env)), (isPut) => known.used('ledger', isPut))
  const stores = openStores(env, db, known.used)
  const mail = openMail({ smtpUrl: env.KP_SMTP_URL, from: env.KP_MAIL_FROM, dataDir: env.KP_DATA_DIR })
  const limiter = openLimiter(
    env,
    {
      onDegraded: (cause) => logFault(cause, { operationId: 'limits', state: 'degraded: limits are per process' }),
      onRecovered: () => logNotice('limits are shared again'),
    },
    patience.limits,
  )
  const telemetryTo = telemetryTarget(env)
  const telemetryKey = lazily(() => deriveKey(secret(), sealedPurposes.telemetryKeys))
  const telemetry = telemetryOf({
    sink: telemetryTo && openPostHog(telemetryTo),
    pseudonymOf: telemetryPseudonyms({
      db,
      key: telemetryKey,
      regions: judged.filter(({ name }) => name === 'posthog').flatMap(regionsAround),
    }).of,
    now: clock.now,
  })
  const presidio = env.KP_PRESIDIO_URL === undefined ? undefined : openPresidio(env.KP_PRESIDIO_URL)
  const stateOf = storeStates({ db, limiter, stores, presidio, sites, isAnother: known.isAnother })
  const metrics = createMetrics(() => [
    requestMeasures(db),
    erasureMeasures(db),
    retentionMeasures(db),
    llmLogMeasures(db),
    telemetryMeasures(telemetry),
    limiterMeasures(limiter),
  ])
  const log = auditLog(db)
  const gate: GatePorts = {
    clock,
    transaction: db.transaction,
    ...log,
    recordDeletion,
    idempotency: idempotencyRecords,
  }
  const signer = createSigner(db, secret)
  const suppressionKeys = createSuppressionKeys(db, { ledger, secret, clock })
  const suppressed = suppressions(suppressionKeys)
  const isSuppressed: IsSuppressed = (kind, values, tx = db.prisma) => suppressed.among(tx, kind, values)
  const pseudonymOf = pseudonyms(lazily(() => deriveKey(secret(), 'pseudonyms')))
  // lib/app.ts fills these lists from all domains, so they must be read only after everything is connected.
  const holders: DataHolder[] = []
  const exporters: Exporter[] = []
  const personExporters: PersonExporter[] = []
  const kept: Kept[] = []
  const expiring: Expiring[] = []
  const facts = {
    backupDays: env.KP_BACKUP_DAYS,
    requestsYears: env.KP_REQUESTS_YEARS,
    lettersInFolder: env.KP_SMTP_URL === undefined,
  }
  const erasures = erasureService({ db, ledger, signer, holders, clock, issuer: origin, facts })
  const lookup = tokenLookup(db, clock)

  const settings = settingsService(db)
  const accounts = accountsService(db, {
    gate,
    tries: limiter,
    markKey: lazily(() => deriveKey(secret(), 'known sign-ins')),
    graceSignIn: env.KP_GRACE_SIGN_IN,
    unsuppress: suppressed.lift,
    networkOf: limitKeyOf,
    agentsOf: async (accountId) => (await ownedAgents(db)(accountId)).length,
    openRequestsOf: openRequestsOf(db),
    isOnRecord: async (tx, accountId) =>
      (await isOnFile(tx, accountId)) ||
      (await holdsInForce.inForce(tx, { account: accountId, agents: [] }, clock.now())).account !== null,
    revokeAdminTokens: async (ctx, accountId, reason) =>
      tokens.revokeScoped(ctx, await agents.agentsOfAccount(ctx.tx, accountId), 'admin', reason),
  })
  const tokens = tokensService(db, {
    agentOf,
    profileOf: profileOf(db),
    gate,
    notify: (tx, notice) => enqueueNotice(tx, { ...notice, at: clock.now().toISOString() }),
  })
  const networkKey = lazily(() => deriveKey(secret(), 'networks of registrations'))
  const agents = agentsService(db, {
    registration: {
      mode: env.KP_REGISTRATION,
      explicitConsent: env.KP_EXPLICIT_CONSENT,
      lawfulBasis: env.KP_LAWFUL_BASIS,
      notice: { version: noticeVersion, url: `${origin}/privacy` },
    },
    tokens,
    contributedBy: contributedBy(db),
    async ownerFound(tx, agentId, ownerId, now) {
      await mergeVotes(tx, agentId, ownerId, now)
      await followAgent(tx, agentId)
    },
    accounts,
    graceTokens: env.KP_GRACE_TOKENS,
    isSuppressed: suppressed.among,
    regions,
    strict: env.KP_SANITIZER_STRICT,
    onDeath: [insureTheDead, (tx, death) => leaveClade(tx, death, recordDeletion)],
    onRestriction: [recallOfRestricted],
    joinClade,
    networkMark: (address) =>
      Uint8Array.from(createHmac('sha256', networkKey()).update(customerNetworkOf(address)).digest()),
    createOrganisation,
    dropOrganisationIfEmpty,
  })

  const sources = gatheredSources()
  /** The common dependencies of the erasure engine and its replay. */
  const erasing = {
    ...{ db, ledger, signer, holders, facts, issuer: origin, now: clock.now },
    audit: log.auditWithin,
    suppressions: suppressed,
    holds: holdsInForce,
    subjects: erasureSubjects({ accounts, agents }),
    parts: projectParts,
    words: runWords({
      sources,
      async namesOf(tx, accountId) {
        const found = await accounts.contactOf(tx, accountId)
        return found ? [found.name, found.email] : []
      },
    }),
    lingering: lingeringIn(stores, { hasOtherCheckpoints: env.KP_CHECKPOINTS_URL !== undefined }),
  }
  const engine = subjectEngine({
    ...erasing,
    interrupt,
    async notifyAdmins(tx, waiting, now) {
      for (const { accountId } of await accounts.adminContacts(tx))
        for (const { store, runs, since, refusal } of waiting) {
          const about = { accountId, store, runs, since: since.toISOString(), at: now.toISOString() }
          await enqueueNotice(
            tx,
            refusal === null ? { kind: 'store-unavailable', ...about } : { kind: 'store-refuses', ...about, refusal },
          )
        }
    },
    async onChange(tx, change) {
      await requests.erasureChanged(tx, change)
      if (!telemetry.isOn || change.state !== 'done') return
      const run = await tx.erasureRun.findUnique({ where: { id: change.runId }, select: { createdAt: true } })
      await tellCompleted(tx, {
        of: change.part?.kind ?? 'subject',
        steps: Object.keys(change.erased).length,
        duration: durationOf(change.now.getTime() - (run?.createdAt ?? change.now).getTime()),
      })
    },
  })

  const projectPorts: ProjectPorts = {
    db,
    objects: stores.objects,
    stored: stores,
    erasedAmong,
    isSuppressed: suppressed.among,
    verifiedAddressOf: accounts.verifiedAddressOf,
    copyAskedFor: copyAskedFor(db),
    accountWithAddress: async (tx, address) => (await accounts.byEmail(tx, address))?.accountId,
    contactOf: accounts.contactOf,
    erasures: engine,
    regions,
    pointerPrefixes: env.KP_POINTER_PREFIXES,
    // A copy of the database has the same name for the bucket but a different data folder.
    installation: async () =>
      stores.objects.provider === 'files'
        ? known.idOf('objects')
        : `${await known.idOf('objects')} ${await dataFolderMark(env.KP_DATA_DIR)}`,
    withCheckpoints: (tx, threads) => stores.checkpoints.present(threads, tx),
    foreignEpisodes: foreignEpisodes(stores.graph),
    hasEpisodes: async (tx, group) => (await stores.graph.episodes(group, '', 1, tx)).length > 0,
    origin,
  }
  const projects = projectsService({
    ...projectPorts,
    participantExporters: [
      ...participantExporters(db),
      ...graphParticipantExporters(db, stores.graph),
      ...requestParticipantExporters(db),
    ],
    shapes: { schemaVersion, zip: (head, parts, files) => zipArchive(head, parts, undefined, files) },
  })

  const retentionStores: RetentionStores = { db, clock, expiring, deletionRows, audit: log.auditWithin }
  const retention = retentionService({
    stores: retentionStores,
    environment: {
      network: env.KP_RETENTION_NETWORK_DAYS,
      org: env.KP_RETENTION_ORG_DAYS,
      private: env.KP_RETENTION_PRIVATE_DAYS,
    },
  })

  /** Those of these ids, of agents or other records, that were erased here. */
  const erasedOf = async (ids: readonly string[]): Promise<readonly string[]> => [
    ...(await erasedAmong(db.prisma, ids)),
    ...(await isSuppressed('agent', ids)),
  ]
  const prepared: PreparedPorts = {
    db,
    files: exportFiles(exportsFolder(env), (isPut) => known.used('exports', isPut)),
    onExport: (tx, change) => requests.copyChanged(tx, change),
  }
  const exported = exportsService({
    ...prepared,
    exporters,
    holders,
    kept,
    registeredOn: lawfulBases(db),
    selfHosted: selfHostedAmong(db),
    participationsOf: (accountId) => participationsOf(db.prisma, accountId),
    placeOf: (store) => placeNamed(places, store, judged),
    quotaOf: async (id) => {
      const agent = await profileOf(db)(id)
      return agent ? tierLimits[agent.tier] : undefined
    },
    isAttributed: isAttributed(db),
    importers: [
      unitImporter({ strict: env.KP_SANITIZER_STRICT, erasedAmong, isSuppressed }),
      skillImporter({ strict: env.KP_SANITIZER_STRICT }),
    ],
    erasedOf,
  })
  const privacy: PrivacyParts = {
    db,
    gate,
    people: {
      ...accounts,
      mayFileFor: async (tx, filer, member) =>
        (await accounts.sameOrganisation(tx, filer, member)) || (await ownsProjectOf(tx, filer, member)),
    },
    agents,
    participants: {
      find: actedFor(db),
      projectOf: projectOfParticipant,
      restrict: restrictParticipants,
      unrestrict: unrestrictParticipants,
      rectify: rectifyParticipant,
    },
    erasures: engine,
    answersForPart: (ctx, part) => db.transaction((tx) => answersForPart({ ...ctx, tx }, part)),
    copies: exported,
    async holdsOn(tx, subject, now) {
      const { account, agents: held } = await holdsInForce.inForce(tx, subject, now)
      return [...new Set([...(account === null ? [] : [account]), ...held.values()])]
    },
    countTry: (address, now) =>
      countTry(limiter, [{ key: `privacy-link:${limitKeyOf(address)}`, limit: linkTriesPerMinute }], now),
    subjectKey: lazily(() => deriveKey(secret(), subjectPurpose)),
    contactKey: lazily(() => deriveKey(secret(), sealedPurposes.privacyContacts)),
    retained: (now) =>
      retainedOfSubject(now, {
        isOfRequest: true,
        requestsYears: facts.requestsYears,
        held: [],
        letters: facts.lettersInFolder ? 'last' : 'none',
      }),
    origin,
    strict: env.KP_SANITIZER_STRICT,
    graceTokens: env.KP_GRACE_TOKENS,
    graceSignIn: env.KP_GRACE_SIGN_IN,
    privacyEmail: env.KP_PRIVACY_EMAIL ?? null,
    requestsYears: env.KP_REQUESTS_YEARS,
  }
  const requests = privacyRequestsService(privacy)
  const receipts = ownReceipts({ db, runsAskedBy: requests.runsAskedBy })

  const replay = replayErasures({
    ...erasing,
    restored: restoredRecord,
    records: erasures,
    complete: engine.complete,
    keys: suppressionKeys,
  })

  const restored = restoredDatabase({ db, ledger, replay, replaysByItself })

  return {
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
    regions,
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
    restored,
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
  }
}
export type Services = ReturnType<typeof createServices>
