import { requirePresent } from '#lib/access/access.ts'
import { type Limiter, limiterMeasures, memoryLimiter } from '#lib/access/limiter.ts'
import type { LimiterEvents } from '#lib/access/limiter-fallback.ts'
import { limitsPool, postgresLimiter, purgeExpiredWindows } from '#lib/access/limiter-postgres.ts'
import { redisLimiter } from '#lib/access/limiter-redis.ts'
import { dataFolderMark } from '#lib/config/data-folder.ts'
import { type Env, hasMailServer, publicUrl, telemetryTarget } from '#lib/config/env.ts'
import {
  assessLocations,
  assessSites,
  refuseOutside,
  sitesOf,
  storeLocationNamed,
  storeLocationsOf,
} from '#lib/config/locations.ts'
import { deriveKey, installationSecret, sealedPurposes } from '#lib/config/secret.ts'
import { requireOpenSession } from '#lib/domains/accounts/account-status.ts'
import { accountDirectory } from '#lib/domains/accounts/queries.ts'
import { ownAgents } from '#lib/domains/agents/life/own-agents.ts'
import { agentsInRegions, profileOf } from '#lib/domains/agents/queries.ts'
import { auditLog } from '#lib/domains/audit/log.ts'
import { createSigner } from '#lib/domains/erasure/receipts/signing.ts'
import { createSuppressionKeys, suppressions } from '#lib/domains/erasure/suppression/suppressions.ts'
import { recordDeletion } from '#lib/domains/erasure/writes.ts'
import { type ExportChange, preparedExports } from '#lib/domains/exports/prepared.ts'
import { idempotencyRecords } from '#lib/domains/idempotency/records.ts'
import { authorPseudonyms, type ErasedAgents } from '#lib/domains/knowledge/erasure/suppression.ts'
import { withheldWhile } from '#lib/domains/pii/analyzer.ts'
import { fileReader } from '#lib/domains/projects/provenance/file-texts.ts'
import { gatheredSources } from '#lib/domains/projects/provenance/gathered-sources.ts'
import { projectsInRegions } from '#lib/domains/projects/queries.ts'
import { fulfilledRegions, parseDataRegions, regionsAround, regionsThatBlock } from '#lib/domains/residency/rules.ts'
import { assertPresentSecret } from '#lib/domains/settings/service.ts'
import { snapshotStorage } from '#lib/domains/snapshots/key-files.ts'
import { registeredStores } from '#lib/domains/stores/registered-stores.ts'
import { telemetry as telemetryOf } from '#lib/domains/telemetry/capture.ts'
import { telemetryPseudonyms } from '#lib/domains/telemetry/personal-data.ts'
import { queueMeasures } from '#lib/jobs/queue.ts'
import { memoize } from '#lib/kernel/concurrency.ts'
import {
  type Actor,
  type Clock,
  type PipelinePorts,
  type Transaction,
  transactionalEvent,
} from '#lib/kernel/context.ts'
import type { DataRegions } from '#lib/kernel/data-regions.ts'
import type { RunChange } from '#lib/kernel/erasure-run.ts'
import type { DatabaseQuery } from '#lib/kernel/evidence.ts'
import { logFault, logNotice } from '#lib/kernel/fault-log.ts'
import { customerNetworkOf, limitKeyOf } from '#lib/kernel/network-keys.ts'
import { fileLedger, observedLedger } from '#lib/stores/ledger/ledger.ts'
import { ledgerFolder, ledgerMark } from '#lib/stores/ledger/ledger-place.ts'
import { openMail } from '#lib/stores/mail/mail.ts'
import { type Database, openDatabase } from '#lib/stores/postgres/database.ts'
import { openPostHog } from '#lib/stores/posthog.ts'
import { openPresidio } from '#lib/stores/presidio.ts'
import { isEmptyStore, openStores, rememberedStores } from './open-stores.ts'
import { sealedVersionColumns } from './resealing.ts'
import { storeChecks, storeMeasures, storeStates } from './store-states.ts'

type LimiterSettings = Pick<Env, 'KP_LIMITS' | 'KP_REDIS_URL' | 'DATABASE_URL' | 'DATABASE_DIRECT_URL'>

function limiterOf(
  store: Limiter['store'],
  env: LimiterSettings,
  events: LimiterEvents,
  patience: number | undefined,
): Limiter {
  if (store === 'redis' && env.KP_REDIS_URL) return redisLimiter(env.KP_REDIS_URL, events, patience)
  if (store === 'postgres' && env.DATABASE_URL) {
    const isPooled = env.DATABASE_DIRECT_URL !== undefined && env.DATABASE_DIRECT_URL !== env.DATABASE_URL
    const pool = limitsPool(env.DATABASE_URL, { isPooled, ...(patience !== undefined && { patience }) })
    const limiter = postgresLimiter(pool, events, patience)
    return {
      ...limiter,
      get degraded() {
        return limiter.degraded
      },
      close: () => limiter.close().then(() => pool.end()),
    }
  }
  return memoryLimiter()
}

/**
 * The limiter for these settings, opened on first use. Redis if it is configured; memory if the supervisor knows that this is the only
 * process (KP_LIMITS=memory); otherwise PostgreSQL, because there may be other replicas.
 */
function openLimiter(env: LimiterSettings, events: LimiterEvents, patience?: number): Limiter {
  const store = env.KP_LIMITS !== 'auto' ? env.KP_LIMITS : env.KP_REDIS_URL ? 'redis' : 'postgres'
  let opened: Limiter | undefined
  const limiter = (): Limiter => {
    opened ??= limiterOf(store, env, events, patience)
    return opened
  }
  return {
    store,
    consume: (key, limit) => limiter().consume(key, limit),
    peek: (key, limit) => limiter().peek(key, limit),
    get degraded() {
      return opened?.degraded ?? false
    },
    close: async () => opened?.close(),
  }
}

/** How many milliseconds a request waits, if different from the default. */
export interface Patience {
  /** How long a request waits for the erasure that it began. */
  erasure?: number
  /** How long a request waits for a connection to the database. */
  connection?: number
  /** How long a request waits for the store of the rate limits. */
  limits?: number
  /** How long a request waits for other erasures or registrations to end. */
  admission?: number
}

const limiterStates = {
  onDegraded: (cause: unknown) => logFault(cause, { operationId: 'limits', state: 'degraded: limits are per process' }),
  onRecovered: () => logNotice('limits are shared again'),
}

/** Finds names with Presidio, unless data must stay in a region that Presidio is not in. */
function nameFinder(
  presidio: ReturnType<typeof openPresidio>,
  query: DatabaseQuery,
  assessedLocations: ReturnType<typeof assessLocations>,
) {
  const analyzed = assessedLocations.filter(({ name }) => name === 'presidio').flatMap(regionsAround)
  return withheldWhile(
    async () => (await agentsInRegions(query, analyzed)) > 0 || (await projectsInRegions(query, analyzed)) > 0,
    presidio.recognise,
  )
}

/** Short queries about agents and accounts that several domains need. */
function subjectLookups(db: Database, suppressed: ReturnType<typeof suppressions>) {
  const erasedAgents: ErasedAgents = async ({ isAdmin, scopes, organisationId }, ids, tx = db.prisma) => {
    // Also where the scope gives no rights over others: what was erased must not return with any token of an admin.
    if (isAdmin || scopes.includes('admin')) return suppressed.among(tx, 'agent', ids)
    return organisationId === undefined ? [] : suppressed.amongMembers(tx, organisationId, ids)
  }
  return {
    erasedAgents,
    /** Whether the agent belongs to another organization, or was erased. False for admins. */
    async isOfOthers({ isAdmin, organisationId }: Actor, id: string): Promise<boolean> {
      if (isAdmin) return false
      const agent = await profileOf(db, id)
      const isErased = (await suppressed.among(db.prisma, 'agent', [id])).length > 0
      return isErased || (agent !== null && agent.organisationId !== organisationId)
    },
    /** Name and email address of an account's person. */
    async namesOf(tx: Transaction | undefined, accountId: string): Promise<string[]> {
      const found = await accountDirectory.contactOf(tx ?? db.prisma, accountId)
      return found ? [found.name, found.email] : []
    },
    /** The email address of an account's person; undefined if the account does not exist. */
    async addressOf(id: string, tx: Transaction = db.prisma): Promise<string | undefined> {
      return (await accountDirectory.contactOf(tx, id))?.email
    },
    /** Which names an erasure may remove from texts of others. */
    heldNames: {
      since: accountDirectory.namesHeldSince,
      isBorneByOthers: accountDirectory.isBorneByOthers,
      every: (visit: (name: string) => void) => accountDirectory.everyName(db.prisma, visit),
    },
  }
}

/** Identifies the installation in the objects that it stores. A copy of the database has the same bucket but a different data folder. */
const installationMark = async (
  stores: ReturnType<typeof openStores>,
  storeRegistry: ReturnType<typeof registeredStores>,
  dataDir: string,
): Promise<string> =>
  stores.objects.provider === 'files'
    ? storeRegistry.idOf('objects')
    : `${await storeRegistry.idOf('objects')} ${await dataFolderMark(dataDir)}`

/**
 * Opens what every domain may depend on: database, stores, ledger, emails, limits, telemetry and the installation's keys. Connects to
 * nothing before the first use. The modules of the domains take what they need from it by name.
 */
export function openPlatform({ env, clock, patience }: { env: Env; clock: Clock; patience: Patience }) {
  refuseOutside(env)
  const db = openDatabase(env.DATABASE_URL ?? 'postgresql://localhost/knowledgepulse', {
    isGuarded: env.NODE_ENV !== 'production',
    directUrl: env.DATABASE_DIRECT_URL,
    ...(patience.connection !== undefined && { patience: patience.connection }),
  })
  const secret = memoize(() => installationSecret(env.KP_DATA_DIR, env.KP_SECRET))
  /** A key derived from the installation secret, computed on first use. */
  const keyFor = (purpose: string) => memoize(() => deriveKey(secret(), purpose))
  const sites = sitesOf(env)
  const assessedLocations = assessLocations(env)
  const regions: DataRegions = {
    choosable: parseDataRegions(env.KP_DATA_REGIONS),
    regionsThatBlock: (region) => regionsThatBlock(region, assessedLocations),
  }
  const storeRegistry = registeredStores({ db, clock, connected: rememberedStores(env, sites), isEmpty: isEmptyStore })
  const ledger = observedLedger(fileLedger(ledgerFolder(env), { secret, mark: ledgerMark(env) }), (isPut) =>
    storeRegistry.used('ledger', isPut),
  )
  const stores = openStores(env, db, storeRegistry.used)
  const limiter = openLimiter(env, limiterStates, patience.limits)
  const telemetryTo = telemetryTarget(env)
  const telemetryKey = keyFor(sealedPurposes.telemetryKeys)
  const telemetry = telemetryOf({
    sink: telemetryTo && openPostHog(telemetryTo),
    pseudonymOf: telemetryPseudonyms({
      db,
      key: telemetryKey,
      regions: assessedLocations.filter(({ name }) => name === 'posthog').flatMap(regionsAround),
    }).of,
    now: clock.now,
  })
  const presidio = env.KP_PRESIDIO_URL === undefined ? undefined : openPresidio(env.KP_PRESIDIO_URL)
  /** For queries about the whole database, such as counts and names. */
  const query: DatabaseQuery = <R extends Record<string, unknown>>(text: string, values?: readonly unknown[]) =>
    db.query<R>(undefined, text, values)
  const log = auditLog(db)
  /** What the use-case pipeline needs. */
  const pipeline: PipelinePorts = {
    clock,
    regions,
    transaction: db.transaction,
    ...log,
    requireOpenSession,
    requirePresent,
    recordDeletion,
    idempotency: idempotencyRecords,
  }
  const suppressionKeys = createSuppressionKeys(db, { ledger, clock, secret, assertPresentSecret })
  const suppressed = suppressions(suppressionKeys)
  const lookups = subjectLookups(db, suppressed)
  const storeLocations = storeLocationsOf(env)
  const stateOf = storeStates({ db, limiter, stores, presidio, sites, isAnother: storeRegistry.isAnother })
  const assessedSites = assessSites(sites, assessedLocations)
  const checks = storeChecks(assessedSites, stateOf)
  /** Published by the erasure engine and by exports. Privacy requests, which begin erasures and exports, listen to them. */
  const erasureChanges = transactionalEvent<RunChange>()
  const exportChanges = transactionalEvent<ExportChange>()
  return {
    env,
    clock,
    db,
    query,
    secret,
    keyFor,
    /** The columns of all domains whose values are stored sealed and copied by legal holds. */
    sealed: sealedVersionColumns(keyFor),
    origin: publicUrl(env),
    strict: env.KP_SANITIZER_STRICT,
    storeLocations,
    /** The location of a store for people: provider and region. */
    placeOf: (store: string) => storeLocationNamed(storeLocations, store, assessedLocations),
    sites: assessedSites,
    assessedLocations,
    regions,
    fulfilledRegions: fulfilledRegions(assessedLocations, regions.choosable),
    storeRegistry,
    ledger,
    stores,
    mail: openMail({ smtpUrl: env.KP_SMTP_URL, from: env.KP_MAIL_FROM, dataDir: env.KP_DATA_DIR }),
    limiter,
    purgeWindows: () => purgeExpiredWindows(db, new Date()),
    networks: { limitKeyOf, customerNetworkOf },
    telemetry,
    telemetryTo,
    telemetryKey,
    log,
    pipeline,
    signer: createSigner(db, { secret, assertPresentSecret }),
    suppressionKeys,
    suppressed,
    ...lookups,
    erasureChanges,
    exportChanges,
    prepared: preparedExports({ db, clock, env, storeRegistry, files: stores.files, onExport: exportChanges.publish }),
    snapshotStorage: snapshotStorage({ db, env, storeRegistry, stores }),
    ownAgents: ownAgents(db, regions),
    pseudonymOf: authorPseudonyms(keyFor('pseudonyms')),
    sources: gatheredSources(
      { namesOf: lookups.namesOf, isBorneByOthers: lookups.heldNames.isBorneByOthers },
      fileReader((key, max) => stores.objects.read(key, max)),
    ),
    /** What receipts state about retention outside the erased data. */
    facts: {
      backupDays: env.KP_BACKUP_DAYS,
      requestsYears: env.KP_REQUESTS_YEARS,
      emailsInFolder: !hasMailServer(env),
    },
    installation: () => installationMark(stores, storeRegistry, env.KP_DATA_DIR),
    /** Finds people's names in texts, if Presidio is connected and allowed to process them. */
    recognise: presidio && nameFinder(presidio, query, assessedLocations),
    stateOf,
    /** The checks of stores that readiness needs. */
    storeChecks: checks,
    measures: [limiterMeasures(limiter), queueMeasures(db), storeMeasures(checks)],
  }
}
export type Platform = ReturnType<typeof openPlatform>
