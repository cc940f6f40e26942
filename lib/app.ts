import { closeLostRequest, lostRequests, lostRequestsWatch } from '#lib/domains/privacy-requests/deadlines-in-ledger.ts'
import packageJson from '#package.json' with { type: 'json' }
import { tokenLookup } from './access/access.ts'
import { collectPersonalData, createErasures, createModules, createPeopleModules } from './composition/modules.ts'
import type { Env } from './config/env.ts'
import { isLate, logLateness } from './domains/llm-log/jobs.ts'
import type { CaptureEvent } from './domains/telemetry/capture.ts'
import { createEntryPoints } from './http/entry-points.ts'
import { createMetrics } from './http/metrics.ts'
import { serviceUseCases } from './http/service.ts'
import { type Clock, systemClock } from './kernel/context.ts'
import type { DataSource } from './kernel/data-source.ts'
import { type DomainModule, mergeUseCases, operationsOf } from './kernel/module.ts'
import { exportTelemetry } from './platform/opentelemetry.ts'
import { openPlatform, type Patience } from './platform/platform.ts'
import type { Database } from './stores/postgres/database.ts'

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

/**
 * Composes everything in order: the platform, the personal data of all domains, the erasure engine over it, the modules, and the reports
 * about the modules.
 */
function compose({
  env,
  clock = systemClock,
  interrupt = () => {},
  moreDataSources = () => [],
  patience = {},
  replaysByItself = false,
}: AppOptions) {
  const platform = openPlatform({ env, clock, patience })
  const { db, ledger } = platform
  const data = collectPersonalData(platform, moreDataSources(db))
  const people = createPeopleModules(platform)
  const erasures = createErasures(platform, data, people, { interrupt, replaysByItself })
  const { modules, digest, stores } = createModules(platform, data, people, erasures, patience.erasure)
  const restored = erasures.restored.state
  const contributed: readonly DomainModule[] = modules
  const metrics = createMetrics(() => [...contributed.flatMap(({ measures = [] }) => measures), ...platform.measures])
  const service = serviceUseCases({
    metrics,
    checks: platform.storeChecks,
    operations: operationsOf(modules).map(({ operation }) => operation),
    version: packageJson.version,
    restored,
    lateness: {
      llm_log: async () => isLate(await logLateness(db, clock.now())),
      requests_lost: lostRequestsWatch(db, ledger),
    },
  })
  const all = [...modules, { useCases: { service } }] as const
  return { platform, data, erasures, metrics, service, digest, stores, all }
}

/** The composition root. Connects to nothing before the first request. */
export function createApp(options: AppOptions) {
  const { platform, data, erasures, metrics, service, digest, stores, all } = compose(options)
  const { clock, db, env, ledger, limiter, log, mail, telemetry } = platform
  const { restored } = erasures
  const named = mergeUseCases(all)
  const lookup = tokenLookup(db, clock)
  const entryPoints = createEntryPoints({
    ...platform,
    lookup,
    metrics,
    restored,
    accounts: named.accounts,
    settings: named.settings,
    tokens: named.tokens,
    factorPolicy: named.accounts.recentFactorPolicy,
    useCases: () => operationsOf(all),
    version: packageJson.version,
    overheard: options.overheard,
    admissionPatience: options.patience?.admission,
  })

  return {
    ...named,
    useCases: operationsOf(all),
    stores,
    jobs: [...all.flatMap((module: DomainModule) => module.jobs ?? []), ...digest],
    ...data,
    storeLocations: platform.storeLocations,
    assessedLocations: platform.assessedLocations,
    regions: platform.regions,
    /** Stores outside our own tables for data derived from people's messages. */
    stored: platform.stores,
    db,
    pipeline: platform.pipeline,
    env,
    erasures: erasures.records,
    subjectErasures: erasures.runs,
    completeReadings: erasures.readings,
    replayErasures: erasures.replay,
    writeMissingRows: erasures.writeMissingRows,
    /** Open privacy requests that a restored database lacks. */
    lostRequests: () => lostRequests(db, ledger),
    closeLostRequest: (id: string) => closeLostRequest(db, ledger, id, clock.now()),
    /** What an erasure would retain, in the words of its receipt. */
    expectedRetention: erasures.expectedRetention,
    /** Whether the database has every erasure of the ledger. */
    restored,
    signer: platform.signer,
    suppressionKeys: platform.suppressionKeys,
    ledger,
    mail,
    /** The telemetry service; `telemetry` is the domain's use cases. */
    telemetryOf: telemetry,
    ...entryPoints,
    openApi: service.documented,
    /** Sends traces and metrics of this process to a collector, if one is configured. */
    exportTelemetry: () => exportTelemetry(env, packageJson.version, metrics.readings),
    /** Writes collected data and closes every connection. */
    async close(): Promise<void> {
      await telemetry.close()
      await entryPoints.mcp.close()
      await named.retention.stop()
      await lookup.close()
      await named.tokens.use.close()
      await log.drain()
      await ledger.close()
      await limiter.close()
      mail.close()
      await platform.stores.close()
      await db.close()
    },
  }
}
export type App = ReturnType<typeof createApp>
