import { join } from 'node:path'
import { limiterMeasures } from '#lib/access/limiter.ts'
import { assessSites, exportsFolder, snapshotKeysFolder } from '#lib/config/locations.ts'
import { usesOf } from '#lib/domains/audit/module.ts'
import { complianceModule } from '#lib/domains/compliance/service.ts'
import { erasureMeasures } from '#lib/domains/erasure/evidence.ts'
import { isLate, llmLogMeasures, logLateness } from '#lib/domains/llm-log/jobs.ts'
import { requestMeasures } from '#lib/domains/privacy-requests/module.ts'
import { retentionMeasures } from '#lib/domains/retention/module.ts'
import { telemetryMeasures } from '#lib/domains/telemetry/capture.ts'
import { createMetrics, type Metrics } from '#lib/http/metrics.ts'
import { serviceUseCases } from '#lib/http/service.ts'
import { queueMeasures } from '#lib/jobs/queue.ts'
import type { DomainModule } from '#lib/kernel/module.ts'
import { isUseCase, type UseCase } from '#lib/kernel/use-case.ts'
import { storeChecks, storeMeasures } from '#lib/platform/store-states.ts'
import { ledgerFolder } from '#lib/stores/ledger/ledger-place.ts'
import { outboxRetention } from '#lib/stores/mail/data-source.ts'
import packageJson from '#package.json' with { type: 'json' }
import type { Erasures } from './erasures.ts'
import type { Foundation } from './foundation.ts'
import type { CollectedData } from './personal-data.ts'

/** The use cases of modules that are operations of the API, in the order of the modules. */
export const operationsOf = (modules: readonly DomainModule[]): UseCase[] =>
  modules.flatMap(({ useCases }) => Object.values(useCases).flatMap((own) => Object.values(own).filter(isUseCase)))

/** The compliance report about all modules. */
export const composeCompliance = (
  { db, env, mail, storeLocations, telemetryTo }: Foundation,
  { dataSources, retainedRecords }: CollectedData,
  modules: readonly DomainModule[],
) =>
  complianceModule({
    db,
    holders: dataSources,
    kept: retainedRecords,
    usesOf,
    operations: operationsOf(modules).map(({ operation }) => operation),
    checks: modules.flatMap(({ checks = [] }) => checks),
    installation: {
      places: storeLocations,
      telemetry: telemetryTo === undefined ? 'none' : 'posthog',
      folders: [join(env.KP_DATA_DIR, 'mail'), exportsFolder(env), snapshotKeysFolder(env), ledgerFolder(env)],
      secretFile: env.KP_SECRET === undefined ? join(env.KP_DATA_DIR, 'secret') : null,
      oldestEmail: mail.folder.oldest,
      outboxRetention,
    },
  })

export const composeMetrics = (
  { assessedLocations, db, limiter, sites, stateOf, telemetry }: Foundation,
  { restored }: Pick<Erasures, 'restored'>,
): Metrics =>
  createMetrics(() => [
    requestMeasures(db),
    erasureMeasures(db, restored.state),
    retentionMeasures(db),
    llmLogMeasures(db),
    telemetryMeasures(telemetry),
    limiterMeasures(limiter),
    queueMeasures(db),
    storeMeasures(storeChecks(assessSites(sites, assessedLocations), stateOf)),
  ])

/** Health, readiness, metrics, and the API description with the operations of all modules. */
export const composeService = (
  { assessedLocations, clock, db, sites, stateOf }: Foundation,
  { restored }: Pick<Erasures, 'restored'>,
  { metrics, areRequestsLost }: { metrics: Metrics; areRequestsLost(): Promise<boolean> },
  modules: readonly DomainModule[],
) =>
  serviceUseCases({
    metrics,
    checks: storeChecks(assessSites(sites, assessedLocations), stateOf),
    operations: operationsOf(modules).map(({ operation }) => operation),
    version: packageJson.version,
    restored: restored.state,
    lateness: {
      llm_log: async () => isLate(await logLateness(db, clock.now())),
      requests_lost: areRequestsLost,
    },
  })
