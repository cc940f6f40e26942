import { auditModule } from '#lib/domains/audit/module.ts'
import { erasureModule } from '#lib/domains/erasure/module.ts'
import { idempotencyModule } from '#lib/domains/idempotency/records.ts'
import { piiModule } from '#lib/domains/pii/service.ts'
import { quotasModule } from '#lib/domains/quotas/service.ts'
import type { RetentionStores } from '#lib/domains/retention/retention-manager.ts'
import { queueJobs } from '#lib/jobs/upkeep.ts'
import type { DomainModule } from '#lib/kernel/module.ts'
import { ledgerFolder } from '#lib/stores/ledger/ledger-place.ts'
import { composeHolds, composeResidency, composeStores, composeTelemetry } from './administration-modules.ts'
import { composeConsole, composeOutbox } from './console-modules.ts'
import { composeExports, composeKnowledge, composeProjects, composeRetention } from './content-modules.ts'
import type { Erasures } from './erasures.ts'
import type { Foundation } from './foundation.ts'
import type { PeopleModules } from './people-modules.ts'
import type { CollectedData } from './personal-data.ts'
import { composeRequests, followChanges } from './request-modules.ts'
import { composeClades, composeGrimoire, composeLlmLog, composeSnapshots } from './sealed-modules.ts'

/** The modules of all domains, in the order in which the OpenAPI document lists their operations. */
export function createDomainModules(deps: {
  foundation: Foundation
  data: CollectedData
  peopleModules: PeopleModules
  erasures: Erasures
  retentionStores: RetentionStores
  /** How many milliseconds a request waits for the erasure that it began, if different from the default. */
  erasurePatience: number | undefined
}) {
  const { foundation, data, peopleModules, erasures, retentionStores, erasurePatience } = deps
  const { db, facts, ledger, log, recognise, signer } = foundation
  const { accounts, agents, approvals, settings, tokens } = peopleModules

  const retention = composeRetention(foundation, retentionStores, peopleModules)
  const exported = composeExports(foundation, data)
  const projects = composeProjects(foundation, erasures, erasurePatience)
  const requests = composeRequests(foundation, peopleModules, erasures, exported, projects)
  followChanges(foundation, erasures, requests)
  const erasure = erasureModule({
    db,
    signer,
    ledger,
    facts,
    engine: erasures.engine,
    readings: erasures.readings,
    dataSources: data.dataSources,
    ledgerFolder: ledgerFolder(foundation.env),
  })

  return [
    accounts,
    agents,
    tokens,
    quotasModule(db),
    settings,
    approvals,
    composeKnowledge(foundation, erasures, retention),
    projects,
    auditModule(db, log),
    erasure,
    exported,
    retention,
    composeHolds(foundation, peopleModules, erasures),
    requests,
    composeSnapshots(foundation),
    composeGrimoire(foundation),
    composeClades(foundation),
    composeLlmLog(foundation),
    composeConsole(foundation, data, retention),
    composeOutbox(foundation, peopleModules),
    piiModule({ recognise }),
    composeStores(foundation, peopleModules),
    composeResidency(foundation),
    composeTelemetry(foundation),
    idempotencyModule(db),
    { useCases: {}, jobs: queueJobs(db) },
  ] as const satisfies readonly DomainModule[]
}
