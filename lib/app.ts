import packageJson from '#package.json' with { type: 'json' }
import { tokenLookup } from './access/token-lookup.ts'
import { composeDigest } from './composition/digest.ts'
import { createDomainModules } from './composition/domain-modules.ts'
import { createErasures } from './composition/erasures.ts'
import { createFoundation } from './composition/foundation.ts'
import { createPeopleModules } from './composition/people-modules.ts'
import { collectPersonalData } from './composition/personal-data.ts'
import { composeCompliance, composeMetrics, composeService, operationsOf } from './composition/reports.ts'
import type { Env } from './config/env.ts'
import { deletionRows } from './domains/erasure/writes.ts'
import { closeLostRequest, lostRequests, lostRequestsWatch } from './domains/privacy-requests/noted-deadlines.ts'
import type { RetentionStores } from './domains/retention/retention-manager.ts'
import type { CaptureEvent } from './domains/telemetry/capture.ts'
import { createEntryPoints } from './http/entry-points.ts'
import { type Clock, systemClock } from './kernel/clock.ts'
import type { DataSource } from './kernel/data-source.ts'
import { type DomainModule, mergeUseCases } from './kernel/module.ts'
import type { AuditAction } from './kernel/operation.ts'
import { exportTelemetry } from './platform/opentelemetry.ts'
import { openPlatform, type Patience } from './platform/platform.ts'
import type { Database } from './stores/postgres/database.ts'

/** A query of the audit log by server code; times are inclusive. */
export interface AuditQuestion {
  agentId?: string
  action?: AuditAction
  from?: Date
  to?: Date
  /** Continues after the last entry of another page. */
  cursor?: string
  /** 1 to 500; 100 if absent. */
  limit?: number
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
  const foundation = createFoundation(openPlatform({ env, clock, patience }))
  const { db, log } = foundation
  const data = collectPersonalData(foundation, moreDataSources(db))
  const peopleModules = createPeopleModules(foundation)
  const erasures = createErasures(foundation, data, peopleModules, { interrupt, replaysByItself })
  const retentionStores: RetentionStores = {
    db,
    clock,
    deletionRows,
    expiring: data.expiring,
    audit: log.auditWithin,
  }
  const erasurePatience = patience.erasure
  const modules = createDomainModules({
    foundation,
    data,
    peopleModules,
    erasures,
    retentionStores,
    erasurePatience,
  })
  const compliance = composeCompliance(foundation, data, modules)
  const digest = composeDigest(foundation, peopleModules, compliance)
  const metrics = composeMetrics(foundation, erasures)
  const areRequestsLost = lostRequestsWatch(db, foundation.ledger)
  const service = composeService(foundation, erasures, { metrics, areRequestsLost }, [...modules, compliance])
  const all = [...modules, compliance, { useCases: { service } }] as const
  return { foundation, data, erasures, retentionStores, modules, metrics, service, digest, all }
}

/** The composition root. Connects to nothing before the first request. */
export function createApp(options: AppOptions) {
  const { foundation, data, erasures, retentionStores, modules, metrics, service, digest, all } = compose(options)
  const { clock, db, env, ledger, limiter, log, mail, origin, pipeline, secret, stores, telemetry } = foundation
  const { engine, expectedRetention, readings, replay, restored, writeMissingRows } = erasures
  const named = mergeUseCases(all)
  const lookup = tokenLookup(db, clock)
  const entryPoints = createEntryPoints({
    db,
    clock,
    env,
    pipeline,
    limiter,
    lookup,
    metrics,
    origin,
    restored,
    secret,
    telemetry,
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
    /** Stores by name, for server code. */
    stores: {
      ...retentionStores,
      auditLog: {
        /** A page of entries, newest first. `nextCursor` leads to the next page; null after the last one. */
        query: ({ agentId, action, from, to, cursor, limit }: AuditQuestion) =>
          named.audit.query({ agent_id: agentId, action, from, to, cursor }, clock.now(), limit),
      },
    },
    jobs: [...modules.flatMap((module: DomainModule) => module.jobs ?? []), ...digest],
    ...data,
    storeLocations: foundation.storeLocations,
    assessedLocations: foundation.assessedLocations,
    regions: foundation.regions,
    /** Stores outside our own tables for data derived from people's messages. */
    stored: stores,
    db,
    pipeline,
    env,
    erasures: engine.records,
    subjectErasures: engine.runs,
    completeReadings: readings,
    replayErasures: replay,
    writeMissingRows,
    /** Open privacy requests that a restored database lacks. */
    lostRequests: () => lostRequests(db, ledger),
    closeLostRequest: (id: string) => closeLostRequest(db, ledger, id, clock.now()),
    /** What an erasure would retain, in the words of its receipt. */
    expectedRetention,
    /** Whether the database has every erasure of the ledger. */
    restored,
    signer: foundation.signer,
    suppressionKeys: foundation.suppressionKeys,
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
      await stores.close()
      await db.close()
    },
  }
}
export type App = ReturnType<typeof createApp>
