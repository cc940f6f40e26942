import type { Env } from '#lib/config/env.ts'
import { judgedSites } from '#lib/config/locations.ts'
import type { Offer } from '#lib/domains/telemetry/observer.ts'
import { createDoors } from '#lib/http/entry-points.ts'
import { storeChecks } from '#lib/platform/store-states.ts'
import packageJson from '../package.json' with { type: 'json' }
import { accountsAndAgents } from './app/accounts-and-agents.ts'
import { type Domain, partsOf } from './app/domain.ts'
import { identity } from './app/identity.ts'
import { installation } from './app/installation.ts'
import { keptByAgents } from './app/kept-by-agents.ts'
import { sharedKnowledge } from './app/knowledge.ts'
import { projectsAndWhatCameOfThem } from './app/projects.ts'
import { rights } from './app/rights.ts'
import { isLate, logLateness } from './domains/llm-log/lateness.ts'
import { serviceUseCases } from './http/service.ts'
import { type Clock, systemClock } from './kernel/clock.ts'
import type { DataHolder } from './kernel/holder.ts'
import type { AuditAction } from './kernel/operation.ts'
import { isUseCase, type UseCase } from './kernel/use-case.ts'
import { createServices, type Patience } from './services.ts'
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
  moreHolders?: (db: Database) => DataHolder[]
  /** For tests: how long requests wait. */
  patience?: Patience
  /** If the database was restored, replays the erasure ledger before anything is served. Otherwise it waits for the command. */
  replaysByItself?: boolean
  /** For tests: receives telemetry events if telemetry is disabled. */
  overheard?: Offer
}

/**
 * Connects services, domains, HTTP, pages and sign-in; lists operations, jobs and data sources. Opens no connection before the first
 * request.
 */
export function createApp({
  env,
  clock = systemClock,
  interrupt = () => {},
  moreHolders = () => [],
  patience = {},
  replaysByItself = false,
  overheard,
}: AppOptions) {
  const services = createServices({ env, clock, interrupt, patience, replaysByItself })
  const {
    db,
    expiring,
    exporters,
    holders,
    judged,
    kept,
    ledger,
    limiter,
    log,
    lookup,
    mail,
    metrics,
    personExporters,
    retention,
    sites,
    stateOf,
    stores,
    telemetry,
    tokens,
  } = services
  const operations = () => useCases.map(({ operation }) => operation)
  const parts = partsOf(services, { env, clock, patience })
  // Within a stage, data is erased in this order.
  const domains = {
    ...accountsAndAgents(parts),
    ...sharedKnowledge(parts),
    ...projectsAndWhatCameOfThem(parts),
    ...rights(parts),
    ...keptByAgents(parts),
    ...installation(parts, operations),
    ...identity(parts),
  } satisfies Record<string, Domain>

  const service = serviceUseCases(
    metrics,
    storeChecks(judgedSites(sites, judged), stateOf),
    operations,
    packageJson.version,
    services.restored.state,
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

  const doors = createDoors({ ...services, env, clock, admissionPatience: patience.admission, overheard })

  return {
    ...(Object.fromEntries(Object.entries(domains).map(([name, { offers }]) => [name, offers])) as {
      [D in keyof typeof domains]: (typeof domains)[D]['offers']
    }),
    service,
    useCases,
    /** Stores by name, for server code. */
    stores: {
      ...services.retentionStores,
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
    places: services.places,
    judged,
    regions: services.regions,
    /** Stores outside our own tables for data derived from people's messages. */
    stored: stores,
    db,
    gate: services.gate,
    env,
    erasures: services.erasures,
    subjectErasures: services.engine,
    replayErasures: services.replay,
    /** Whether the database has every erasure of the ledger. */
    restored: services.restored,
    signer: services.signer,
    suppressionKeys: services.suppressionKeys,
    ledger,
    mail,
    /** The telemetry service; `telemetry` is the domain's use cases. */
    telemetryOf: telemetry,
    ...doors,
    openApi: service.documented,
    /** Writes collected data and closes every connection. */
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
