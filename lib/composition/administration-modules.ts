import { assessSites } from '#lib/config/locations.ts'
import { holdsModule } from '#lib/domains/holds/module.ts'
import { residencyModule } from '#lib/domains/residency/module.ts'
import { fulfilledRegions } from '#lib/domains/residency/rules.ts'
import { storesModule } from '#lib/domains/stores/module.ts'
import { telemetryModule } from '#lib/domains/telemetry/service.ts'
import { identifiesSomebody, searchConnectedStores } from '#lib/operator/find-connected.ts'
import type { Erasures } from './erasures.ts'
import type { Foundation } from './foundation.ts'
import type { PeopleModules } from './people-modules.ts'

export const composeHolds = ({ db, strict }: Foundation, { approvals }: PeopleModules, { engine }: Erasures) =>
  holdsModule({
    db,
    strict,
    requireApproval: approvals.useCases.approvals.requireApproval,
    onReleased: engine.runs.resumeHeld,
  })

export function composeStores(foundation: Foundation, { approvals }: Pick<PeopleModules, 'approvals'>) {
  const { assessedLocations, db, env, keys, known, regions, sites, stateOf, storeLocations, strict } = foundation
  const fulfilled = fulfilledRegions(assessedLocations, regions.choosable)
  return storesModule({
    db,
    known,
    strict,
    stateOf,
    search: {
      search: searchConnectedStores(env, db.pool.options.connectionString, keys.subject),
      identifies: identifiesSomebody,
      key: keys.subject,
      needsApprovals: approvals.useCases.approvals.isRequired,
    },
    requireApproval: approvals.useCases.approvals.requireApproval,
    residency: env.KP_RESIDENCY ?? null,
    sites: assessSites(sites, assessedLocations),
    emailsInFolder: storeLocations.mail === 'folder',
    fulfilledRegions: fulfilled,
  })
}

export const composeResidency = ({ assessedLocations, env, regions }: Foundation) =>
  residencyModule({
    residency: env.KP_RESIDENCY,
    places: assessedLocations,
    choosable: regions.choosable,
  })

export const composeTelemetry = ({ assessedLocations, db, telemetry, telemetryTo }: Foundation) =>
  telemetryModule({
    db,
    telemetry,
    to: telemetryTo && {
      host: new URL(telemetryTo.host).host,
      region: assessedLocations.find(({ name }) => name === 'posthog')?.region ?? null,
    },
  })
