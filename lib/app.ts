import packageJson from '../package.json' with { type: 'json' }
import { createAccess } from './access/access.ts'
import type { Caller } from './access/actor.ts'
import { trustedProxies } from './access/client-address.ts'
import { purgeExpiredWindows } from './access/limiter-postgres.ts'
import { openLimiter } from './access/limits.ts'
import { nextAuthOptions } from './access/next-auth.ts'
import { createSessions } from './access/sessions.ts'
import { tokenLookup } from './access/token-lookup.ts'
import { accountsJobs } from './domains/accounts/jobs.ts'
import { enqueueNotice } from './domains/accounts/notices.ts'
import { accountsService, createOrganisation, dropOrganisationIfEmpty } from './domains/accounts/service.ts'
import { agentExporters } from './domains/agents/exporters.ts'
import { agentsJobs } from './domains/agents/jobs.ts'
import { agentOf, profileOf } from './domains/agents/rows.ts'
import { noticeVersion } from './domains/agents/rules.ts'
import { agentsService } from './domains/agents/service.ts'
import { auditExporters } from './domains/audit/exporters.ts'
import { auditJobs } from './domains/audit/jobs.ts'
import { auditLog } from './domains/audit/log.ts'
import { auditService } from './domains/audit/service.ts'
import { deletionRows, recordDeletion } from './domains/erasure/deletion-log.ts'
import { erasedAmong } from './domains/erasure/erased-ids.ts'
import { erasureExporters } from './domains/erasure/exporters.ts'
import { erasureJobs } from './domains/erasure/jobs.ts'
import { erasureService } from './domains/erasure/service.ts'
import { createSigner } from './domains/erasure/signing.ts'
import { exportExporters } from './domains/exports/exporters.ts'
import { exportsService } from './domains/exports/service.ts'
import { holdsService } from './domains/holds/service.ts'
import { idempotencyHolder } from './domains/idempotency/holders.ts'
import { idempotencyJobs } from './domains/idempotency/jobs.ts'
import { idempotencyRecords, withdrawAnswers } from './domains/idempotency/records.ts'
import { mergeVotes } from './domains/knowledge/claimed-votes.ts'
import { knowledgeExpiry } from './domains/knowledge/expiry.ts'
import { isAttributed, knowledgeExporters } from './domains/knowledge/exporters.ts'
import { isStored } from './domains/knowledge/held.ts'
import { unitHolder } from './domains/knowledge/holders.ts'
import { unitImporter } from './domains/knowledge/imports.ts'
import { knowledgeJobs } from './domains/knowledge/jobs.ts'
import { reputationService } from './domains/knowledge/reputation/service.ts'
import { searchJobs } from './domains/knowledge/search/jobs.ts'
import { searchService } from './domains/knowledge/search/service.ts'
import { wordsHolder } from './domains/knowledge/search/words-held.ts'
import { knowledgeService } from './domains/knowledge/service.ts'
import { skillHolder } from './domains/knowledge/skills/holders.ts'
import { skillImporter } from './domains/knowledge/skills/imports.ts'
import { skillsService } from './domains/knowledge/skills/service.ts'
import { sopsService } from './domains/knowledge/sops/service.ts'
import { retentionJobs } from './domains/retention/jobs.ts'
import type { RetentionStores } from './domains/retention/retention-manager.ts'
import { retentionService } from './domains/retention/service.ts'
import { settingsService } from './domains/settings/service.ts'
import { tokenExporters } from './domains/tokens/exporters.ts'
import { tokensJobs } from './domains/tokens/jobs.ts'
import { tierLimits } from './domains/tokens/rules.ts'
import { tokensService } from './domains/tokens/service.ts'
import { type Env, publicUrl, readEnv } from './env.ts'
import { createHandle } from './http/handle.ts'
import { createMetrics } from './http/metrics.ts'
import { clientAddresses, createRoute } from './http/route.ts'
import { serviceUseCases } from './http/service.ts'
import { queueJobs } from './jobs/upkeep.ts'
import { type Clock, systemClock } from './kernel/clock.ts'
import type { Context, GatePorts } from './kernel/context.ts'
import { logFault, logNotice } from './kernel/fault-log.ts'
import type { DataHolder, Expiring, Exporter } from './kernel/holder.ts'
import { newId } from './kernel/ids.ts'
import type { RunnableJob } from './kernel/job.ts'
import type { AuditAction, RawInput } from './kernel/operation.ts'
import { isUseCase, type UseCase } from './kernel/use-case.ts'
import { deriveKey, installationSecret } from './secret.ts'
import { fileLedger } from './stores/ledger/ledger.ts'
import { openMail } from './stores/mail/mail.ts'
import { openDatabase } from './stores/postgres/database.ts'

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
}

/** What a domain is to the rest: what it offers, what it does by the clock, and what it answers for. */
interface Domain {
  offers: object
  jobs?: RunnableJob[]
  holders?: DataHolder[]
  exporters?: Exporter[]
  expiring?: Expiring[]
}

/** Connects stores, builds the services, lists operations, jobs and holders. Opens no connection before the first request. */
export function createApp({ env, clock = systemClock }: AppOptions) {
  const db = openDatabase(env.DATABASE_URL ?? 'postgresql://localhost/knowledgepulse', {
    isGuarded: env.NODE_ENV !== 'production',
  })
  const secret = lazily(() => installationSecret(env.KP_DATA_DIR, env.KP_SECRET))
  const origin = publicUrl(env)
  const ledger = fileLedger(env.KP_LEDGER_URL ?? `${env.KP_DATA_DIR}/erasures`)
  const mail = openMail({ smtpUrl: env.KP_SMTP_URL, from: env.KP_MAIL_FROM, dataDir: env.KP_DATA_DIR })
  const limiter = openLimiter(env, {
    onDegraded: (cause) => logFault(cause, { operationId: 'limits', state: 'degraded: limits are per process' }),
    onRecovered: () => logNotice('limits are shared again'),
  })
  const metrics = createMetrics()
  const log = auditLog(db)
  const gate: GatePorts = { clock, transaction: db.transaction, ...log, idempotency: idempotencyRecords }
  const signer = createSigner(db, secret)
  // Filled below from all domains; who is handed them asks once everything is connected.
  const holders: DataHolder[] = []
  const exporters: Exporter[] = []
  const expiring: Expiring[] = []
  const facts = { backupDays: env.KP_BACKUP_DAYS }
  const erasures = erasureService({ db, ledger, signer, holders, clock, issuer: origin, facts })
  const lookup = tokenLookup(db, clock)

  const settings = settingsService(db)
  const accounts = accountsService(db, {
    gate,
    tries: limiter,
    markKey: lazily(() => deriveKey(secret(), 'known sign-ins')),
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

  // A new domain is one line here: what it offers, what it does by the clock, what it answers for.
  const domains = {
    accounts: { offers: accounts, jobs: accountsJobs(db, mail, origin) },
    agents: {
      offers: agents,
      jobs: agentsJobs({ dropOrganisationIfEmpty, recordDeletion }),
      exporters: agentExporters(db),
    },
    tokens: {
      offers: tokens,
      jobs: tokensJobs({ purgeWindows: () => purgeExpiredWindows(db.pool, new Date()) }),
      exporters: tokenExporters(db),
    },
    settings: { offers: settings },
    // Before knowledge: words are taken out while the rows that have them are there.
    search: { offers: searchService(db), jobs: searchJobs(db), holders: [wordsHolder(db)] },
    knowledge: {
      offers: knowledgeService({
        db,
        erasures,
        strict: env.KP_SANITIZER_STRICT,
        withdrawAnswers,
        networkKey: lazily(() => deriveKey(secret(), 'report networks')),
      }),
      jobs: knowledgeJobs(db),
      expiring: knowledgeExpiry(db),
      exporters: knowledgeExporters(db),
      holders: [unitHolder(db)],
    },
    skills: {
      offers: skillsService({ db, erasures, strict: env.KP_SANITIZER_STRICT, withdrawAnswers }),
      holders: [skillHolder(db)],
    },
    reputation: { offers: reputationService(db) },
    sops: { offers: sopsService({ db, erasures, strict: env.KP_SANITIZER_STRICT, withdrawAnswers }) },
    audit: { offers: auditService(db), jobs: auditJobs(db, log), exporters: auditExporters(db) },
    receipts: { offers: erasures.receipts, jobs: erasureJobs(erasures), exporters: erasureExporters(db) },
    exports: {
      offers: exportsService({
        exporters,
        quotaOf: async (id) => {
          const agent = await profileOf(db)(id)
          return agent ? tierLimits[agent.tier] : undefined
        },
        isAttributed: isAttributed(db),
        importers: [
          unitImporter({ strict: env.KP_SANITIZER_STRICT, erasedAmong }),
          skillImporter({ strict: env.KP_SANITIZER_STRICT }),
        ],
        erasedOf: (ids) => erasedAmong(db.prisma, ids),
      }),
      exporters: exportExporters(db),
    },
    retention: { offers: retention, jobs: retentionJobs(retention) },
    holds: {
      offers: holdsService({
        db,
        strict: env.KP_SANITIZER_STRICT,
        exists: async (tx, kind, id) =>
          kind === 'agent' ? (await agentOf(tx, id)) !== null : await isStored(tx, kind, id),
      }),
    },
    queue: { offers: {}, jobs: queueJobs(db) },
    idempotency: { offers: {}, jobs: idempotencyJobs(db), holders: [idempotencyHolder(db)] },
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
  for (const domain of Object.values<Domain>(domains)) {
    holders.push(...(domain.holders ?? []))
    exporters.push(...(domain.exporters ?? []))
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
    expiring,
    db,
    gate,
    env,
    erasures,
    signer,
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
        useCase.operation.permission,
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
