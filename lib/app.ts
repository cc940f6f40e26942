import packageJson from '../package.json' with { type: 'json' }
import { createAccess } from './access/access.ts'
import type { Caller } from './access/actor.ts'
import { limitKeyOf, trustedProxies } from './access/client-address.ts'
import { purgeExpiredWindows } from './access/limiter-postgres.ts'
import { openLimiter } from './access/limits.ts'
import { nextAuthOptions } from './access/next-auth.ts'
import { createSessions } from './access/sessions.ts'
import { tokenLookup } from './access/token-lookup.ts'
import { accountHolder, sessionHolder, signInHolder } from './domains/accounts/holders.ts'
import { accountsJobs } from './domains/accounts/jobs.ts'
import { enqueueNotice } from './domains/accounts/notices.ts'
import { accountExporters, organisationOf } from './domains/accounts/person-exporters.ts'
import { seizeAccount } from './domains/accounts/seizing.ts'
import { accountsService, createOrganisation, dropOrganisationIfEmpty } from './domains/accounts/service.ts'
import { countTry } from './domains/accounts/tries.ts'
import { agentExporters } from './domains/agents/exporters.ts'
import { agentHolder } from './domains/agents/holders.ts'
import { agentsJobs } from './domains/agents/jobs.ts'
import { agentsKept } from './domains/agents/kept.ts'
import { lawfulBases, ownedAgents } from './domains/agents/owned.ts'
import { agentOf, profileOf } from './domains/agents/rows.ts'
import { noticeVersion } from './domains/agents/rules.ts'
import { agentsSince, newestAgent, seizeAgents } from './domains/agents/seizing.ts'
import { agentsService } from './domains/agents/service.ts'
import { auditExporters, auditPersonExporters } from './domains/audit/exporters.ts'
import { auditJobs } from './domains/audit/jobs.ts'
import { auditKept } from './domains/audit/kept.ts'
import { auditLog } from './domains/audit/log.ts'
import { auditService } from './domains/audit/service.ts'
import { deletionRows, recordDeletion } from './domains/erasure/deletion-log.ts'
import { erasedAmong } from './domains/erasure/erased-ids.ts'
import { erasureExporters } from './domains/erasure/exporters.ts'
import { formerOwnerHolder } from './domains/erasure/holders.ts'
import { erasureJobs } from './domains/erasure/jobs.ts'
import { erasureKept } from './domains/erasure/kept.ts'
import { erasureMeasures } from './domains/erasure/measures.ts'
import { erasurePersonExporters, erasureRunExporters } from './domains/erasure/person-exporters.ts'
import { receiptPdfReader } from './domains/erasure/receipt-pdf.ts'
import { replayErasures } from './domains/erasure/replay.ts'
import { retainedOfSubject } from './domains/erasure/rules.ts'
import { erasureService } from './domains/erasure/service.ts'
import { createSigner } from './domains/erasure/signing.ts'
import { subjectEngine } from './domains/erasure/subject-engine.ts'
import type { SubjectErasurePorts } from './domains/erasure/subject-erasures.ts'
import { createSuppressionKeys } from './domains/erasure/suppression-keys.ts'
import { suppressions } from './domains/erasure/suppressions.ts'
import { exportFiles } from './domains/exports/export-files.ts'
import { exportExporters } from './domains/exports/exporters.ts'
import { exportFilesHolder, exportRunsHolder } from './domains/exports/holders.ts'
import { exportJobs } from './domains/exports/jobs.ts'
import { exportPersonExporters } from './domains/exports/person-exporters.ts'
import { preparation } from './domains/exports/preparation.ts'
import type { PreparedPorts } from './domains/exports/prepared.ts'
import { exportsService } from './domains/exports/service.ts'
import { exportUpkeep } from './domains/exports/upkeep.ts'
import { holdsInForce } from './domains/holds/in-force.ts'
import { holdsKept } from './domains/holds/kept.ts'
import { holdsService } from './domains/holds/service.ts'
import { idempotencyHolder, withdrawNaming } from './domains/idempotency/holders.ts'
import { idempotencyJobs } from './domains/idempotency/jobs.ts'
import { idempotencyRecords, withdrawAnswers } from './domains/idempotency/records.ts'
import { mergeVotes } from './domains/knowledge/claimed-votes.ts'
import { knowledgeExpiry } from './domains/knowledge/expiry.ts'
import { isAttributed, knowledgeExporters } from './domains/knowledge/exporters.ts'
import { isStored } from './domains/knowledge/held.ts'
import { heldAuthors } from './domains/knowledge/held-authors.ts'
import { unitHolder } from './domains/knowledge/holders.ts'
import { unitImporter } from './domains/knowledge/imports.ts'
import { knowledgeJobs } from './domains/knowledge/jobs.ts'
import { pseudonyms } from './domains/knowledge/pseudonym.ts'
import { referencesHolder } from './domains/knowledge/references-held.ts'
import { rejectionsHolder } from './domains/knowledge/rejections-held.ts'
import { reputationHolder } from './domains/knowledge/reputation/holders.ts'
import { reputationService } from './domains/knowledge/reputation/service.ts'
import { restoredRecord } from './domains/knowledge/restored.ts'
import { searchJobs } from './domains/knowledge/search/jobs.ts'
import { searchService } from './domains/knowledge/search/service.ts'
import { wordsHolder } from './domains/knowledge/search/words-held.ts'
import { knowledgeService } from './domains/knowledge/service.ts'
import { skillHolder } from './domains/knowledge/skills/holders.ts'
import { skillImporter } from './domains/knowledge/skills/imports.ts'
import { skillsService } from './domains/knowledge/skills/service.ts'
import { sopsService } from './domains/knowledge/sops/service.ts'
import type { IsSuppressed } from './domains/knowledge/suppression.ts'
import { saidHolders } from './domains/knowledge/votes-held.ts'
import { requestExporters, requestPersonExporters } from './domains/privacy-requests/exporters.ts'
import { requestHolder } from './domains/privacy-requests/holders.ts'
import { requestMeasures } from './domains/privacy-requests/measures.ts'
import type { PrivacyParts } from './domains/privacy-requests/ports.ts'
import { linkTriesPerMinute } from './domains/privacy-requests/rules.ts'
import { privacyRequestsJobs, privacyRequestsService } from './domains/privacy-requests/service.ts'
import { retentionJobs } from './domains/retention/jobs.ts'
import { retentionKept } from './domains/retention/kept.ts'
import { retentionMeasures } from './domains/retention/measures.ts'
import type { RetentionStores } from './domains/retention/retention-manager.ts'
import { retentionService } from './domains/retention/service.ts'
import { settingsKept } from './domains/settings/kept.ts'
import { settingsService } from './domains/settings/service.ts'
import { tokenExporters } from './domains/tokens/exporters.ts'
import { tokenHolder } from './domains/tokens/holders.ts'
import { tokensJobs } from './domains/tokens/jobs.ts'
import { tierLimits } from './domains/tokens/rules.ts'
import { tokensService } from './domains/tokens/service.ts'
import { type Env, publicUrl, readEnv } from './env.ts'
import { createHandle } from './http/handle.ts'
import { createMetrics } from './http/metrics.ts'
import { clientAddresses, createRoute } from './http/route.ts'
import { serviceUseCases } from './http/service.ts'
import { queueHolder } from './jobs/holders.ts'
import { queueJobs } from './jobs/upkeep.ts'
import { type Clock, systemClock } from './kernel/clock.ts'
import type { Context, GatePorts } from './kernel/context.ts'
import { logFault, logNotice } from './kernel/fault-log.ts'
import type { DataHolder, Expiring, Exporter, Kept, PersonExporter } from './kernel/holder.ts'
import { newId } from './kernel/ids.ts'
import type { RunnableJob } from './kernel/job.ts'
import type { AuditAction, RawInput } from './kernel/operation.ts'
import { isUseCase, type UseCase } from './kernel/use-case.ts'
import { placeNamed, placesOf } from './places.ts'
import { deriveKey, installationSecret, sealedPurposes, subjectPurpose } from './secret.ts'
import { fileLedger } from './stores/ledger/ledger.ts'
import { letterHolder } from './stores/mail/letters-held.ts'
import { openMail } from './stores/mail/mail.ts'
import { type Database, openDatabase } from './stores/postgres/database.ts'

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

/** Connects stores, builds the services, lists operations, jobs and holders. Opens no connection before the first request. */
export function createApp({ env, clock = systemClock, interrupt = () => {}, moreHolders = () => [] }: AppOptions) {
  const db = openDatabase(env.DATABASE_URL ?? 'postgresql://localhost/knowledgepulse', {
    isGuarded: env.NODE_ENV !== 'production',
  })
  const secret = lazily(() => installationSecret(env.KP_DATA_DIR, env.KP_SECRET))
  const origin = publicUrl(env)
  const places = placesOf(env)
  const ledger = fileLedger(env.KP_LEDGER_URL ?? `${env.KP_DATA_DIR}/erasures`)
  const mail = openMail({ smtpUrl: env.KP_SMTP_URL, from: env.KP_MAIL_FROM, dataDir: env.KP_DATA_DIR })
  const limiter = openLimiter(env, {
    onDegraded: (cause) => logFault(cause, { operationId: 'limits', state: 'degraded: limits are per process' }),
    onRecovered: () => logNotice('limits are shared again'),
  })
  const metrics = createMetrics(() => [
    requestMeasures(db),
    erasureMeasures(db),
    retentionMeasures(db),
    {
      name: 'limits',
      measure: async () => [
        {
          name: 'kp_limits_degraded',
          help: 'Whether limits are per process because their store does not answer: 1 or 0',
          type: 'gauge',
          samples: [{ value: limiter.degraded ? 1 : 0 }],
        },
      ],
    },
  ])
  const log = auditLog(db)
  const gate: GatePorts = { clock, transaction: db.transaction, ...log, idempotency: idempotencyRecords }
  const signer = createSigner(db, secret)
  const suppressionKeys = createSuppressionKeys(db, { ledger, secret, clock })
  const suppressed = suppressions(suppressionKeys)
  const isSuppressed: IsSuppressed = (kind, values, tx = db.prisma) => suppressed.among(tx, kind, values)
  const pseudonymOf = pseudonyms(lazily(() => deriveKey(secret(), 'pseudonyms')))
  // Filled below from all domains; who is handed them asks once everything is connected.
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
  const subjects: SubjectErasurePorts['subjects'] = {
    // The account first, as whoever claims an agent does.
    async seize(tx, subject, how) {
      const email = subject.account === null ? null : await seizeAccount(tx, subject.account, how.now)
      return { email, agents: await seizeAgents(tx, subject, how) }
    },
    release: (tx, subject, now) => agents.unsuspend(tx, subject, now),
    async newest(tx, { account, agents: named }) {
      const found = account === null ? undefined : await accounts.byId(tx, account)
      const agent = await newestAgent(tx, named)
      return found && (!agent || found.createdAt > agent) ? found.createdAt : agent
    },
    async agentsOf(tx, { account, agents: named }) {
      const owned = account === null ? [] : await agents.agentsOfAccount(tx, account)
      return [...new Set([...named, ...owned])].sort()
    },
    async stored(tx, { account, agents: named }, at) {
      const { before, since } = await agentsSince(tx, named, at)
      const found = account === null ? undefined : await accounts.byId(tx, account)
      const accountAt = (isSince: boolean) => (found && found.createdAt > at === isSince ? account : null)
      return {
        before: { account: accountAt(false), agents: before },
        since: { account: accountAt(true), agents: since },
      }
    },
  }
  const engine = subjectEngine({
    db,
    ledger,
    signer,
    holders,
    issuer: origin,
    facts,
    suppressions: suppressed,
    holds: holdsInForce,
    subjects,
    onChange: (tx, change) => requests.erasureChanged(tx, change),
    audit: log.auditWithin,
    interrupt,
    now: clock.now,
  })
  const lookup = tokenLookup(db, clock)

  const settings = settingsService(db)
  const accounts = accountsService(db, {
    gate,
    tries: limiter,
    markKey: lazily(() => deriveKey(secret(), 'known sign-ins')),
    graceSignIn: env.KP_GRACE_SIGN_IN,
    unsuppress: suppressed.lift,
  })
  const tokens = tokensService(db, {
    agentOf,
    profileOf: profileOf(db),
    gate,
    notify: (tx, notice) => enqueueNotice(tx, { ...notice, at: clock.now().toISOString() }),
  })
  const agents = agentsService(db, {
    registration: {
      mode: env.KP_REGISTRATION,
      explicitConsent: env.KP_EXPLICIT_CONSENT,
      lawfulBasis: env.KP_LAWFUL_BASIS,
      notice: { version: noticeVersion, url: `${origin}/privacy` },
    },
    tokens,
    ownerFound: mergeVotes,
    accounts,
    graceTokens: env.KP_GRACE_TOKENS,
    isSuppressed: suppressed.among,
    createOrganisation,
    dropOrganisationIfEmpty,
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

  const prepared: PreparedPorts = {
    db,
    files: exportFiles(`${env.KP_DATA_DIR}/exports`),
    onExport: (tx, change) => requests.copyChanged(tx, change),
  }
  const privacy: PrivacyParts = {
    db,
    gate,
    people: accounts,
    agents,
    erasures: engine,
    // Copies are the exports domain's; it is connected below.
    copies: { prepare: (tx, copy) => domains.exports.offers.prepare(tx, copy) },
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

  // A new domain is one line here: what it offers, what it does by the clock, what it answers for.
  const domains = {
    accounts: { offers: accounts, jobs: accountsJobs(db, mail, origin), personExporters: accountExporters(db) },
    agents: {
      offers: agents,
      jobs: agentsJobs({ dropOrganisationIfEmpty, recordDeletion }),
      exporters: agentExporters(db),
      kept: agentsKept(db),
    },
    tokens: {
      offers: tokens,
      jobs: tokensJobs({ purgeWindows: () => purgeExpiredWindows(db.pool, new Date()) }),
      exporters: tokenExporters(db),
    },
    settings: { offers: settings, kept: settingsKept(db) },
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
      offers: skillsService({ db, erasures, strict: env.KP_SANITIZER_STRICT, withdrawAnswers, isSuppressed }),
      holders: [skillHolder(db, { withdrawNaming })],
    },
    reputation: { offers: reputationService(db), holders: [reputationHolder(db)] },
    sops: { offers: sopsService({ db, erasures, strict: env.KP_SANITIZER_STRICT, withdrawAnswers, isSuppressed }) },
    audit: {
      offers: auditService(db),
      jobs: auditJobs(db, log),
      exporters: auditExporters(db),
      personExporters: auditPersonExporters(db),
      kept: auditKept(db),
    },
    receipts: {
      offers: { ...erasures.receipts, pdf: receiptPdfReader(erasures.receipts.read) },
      jobs: erasureJobs(erasures, engine),
      exporters: [...erasureExporters(db), ...erasureRunExporters(db)],
      personExporters: erasurePersonExporters(db),
      holders: [formerOwnerHolder(db)],
      kept: erasureKept(db),
    },
    exports: {
      offers: exportsService({
        ...prepared,
        exporters,
        holders,
        kept,
        registeredOn: lawfulBases(db),
        placeOf: (store) => placeNamed(places, store),
        quotaOf: async (id) => {
          const agent = await profileOf(db)(id)
          return agent ? tierLimits[agent.tier] : undefined
        },
        isAttributed: isAttributed(db),
        importers: [
          unitImporter({ strict: env.KP_SANITIZER_STRICT, erasedAmong, isSuppressed, pseudonymOf }),
          skillImporter({ strict: env.KP_SANITIZER_STRICT, isSuppressed }),
        ],
        erasedOf: async (ids) => [...(await erasedAmong(db.prisma, ids)), ...(await isSuppressed('agent', ids))],
      }),
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
        accountHolder(db),
      ],
    },
  } satisfies Record<string, Domain>

  const service = serviceUseCases(
    metrics,
    {
      postgresql: async () =>
        (await db.pool.query('SELECT 1').catch(() => undefined)) ? { state: 'ok' } : { state: 'down' },
      limits: async () =>
        limiter.degraded
          ? { state: 'degraded', detail: `${limiter.store} does not answer; limits are per process` }
          : { state: 'ok' },
    },
    () => useCases.map(({ operation }) => operation),
    packageJson.version,
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

  const people = lazily(() => createSessions({ db, clock, secret: secret() }))
  const access = createAccess({
    tokens: lookup,
    limiter,
    session: (cookie) => people().caller(cookie),
    anonymousReading: settings.anonymousReading,
    keepRefusal: tokens.keepRefusal,
  })
  const handle = createHandle({
    access,
    gate,
    metrics,
    origin,
    hashKey: lazily(() => deriveKey(secret(), 'idempotency')),
  })
  const address = () => clientAddresses.getStore() ?? 'unknown'

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
    db,
    gate,
    env,
    erasures,
    subjectErasures: engine,
    replayErasures: replayErasures({
      db,
      ledger,
      signer,
      holders,
      holds: holdsInForce,
      subjects,
      restored: restoredRecord,
      records: erasures,
      complete: engine.complete,
      suppressions: suppressed,
      keys: suppressionKeys,
      audit: log.auditWithin,
      issuer: origin,
      facts,
      now: clock.now,
    }),
    signer,
    suppressionKeys,
    ledger,
    mail,
    handle,
    route: createRoute(handle),
    proxies: lazily(() => trustedProxies(env.KP_TRUSTED_PROXIES)),
    openApi: service.documented,
    authOptions: lazily(() =>
      nextAuthOptions({
        accounts,
        secret: secret(),
        publicUrl: origin,
        address,
        refused: metrics.refused,
        reportFault: (error) => logFault(error, { operationId: 'signIn' }),
      }),
    ),
    /** The person whom the browser's cookies stand for, as the database has it now. */
    personFromCookies: (cookies: string): Promise<Caller | undefined> => people().caller(cookies),
    /** What a page does for the person behind it: the same use-cases through the same gate. Throws the problem. */
    async asPerson(cookies: string, useCase: UseCase, input: Partial<RawInput> = {}): Promise<unknown> {
      const caller = await access.identify(
        { headers: { get: (name) => (name === 'cookie' ? cookies : null) } },
        address(),
        useCase.operation,
      )
      const ctx: Context = { actor: caller.actor, ip: address(), requestId: newId('req'), gate, now: clock.now() }
      return (await useCase.execute(ctx, { params: {}, query: {}, headers: {}, body: undefined, ...input })).body
    },
    /** Writes what is gathered and lets go of every connection. */
    async close(): Promise<void> {
      await retention.stop()
      await lookup.close()
      await log.drain()
      await ledger.close()
      await limiter.close()
      mail.close()
      await db.close()
    },
  }
}
export type App = ReturnType<typeof createApp>

function lazily<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

declare global {
  var knowledgePulse: App | undefined
}
// The front and Next's bundle each load this file; one process has one application, so that its limits and its connections are one.
globalThis.knowledgePulse ??= createApp({ env: readEnv() })
export const app: App = globalThis.knowledgePulse
export const route: App['route'] = app.route
