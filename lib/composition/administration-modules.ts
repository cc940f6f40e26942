import { assessSites } from '#lib/config/locations.ts'
import { agentIdsInRegions, agentOf, agentsInRegions } from '#lib/domains/agents/queries.ts'
import { holdsModule } from '#lib/domains/holds/module.ts'
import { isStored } from '#lib/domains/knowledge/queries.ts'
import { isProject } from '#lib/domains/projects/erasing/parts.ts'
import { idsInRegions, projectsInRegions } from '#lib/domains/projects/queries.ts'
import { residencyModule } from '#lib/domains/residency/module.ts'
import { fulfilledRegions } from '#lib/domains/residency/rules.ts'
import { storesModule } from '#lib/domains/stores/module.ts'
import { telemetryModule } from '#lib/domains/telemetry/module.ts'
import { heldNames } from './approvals.ts'
import type { Erasures } from './erasures.ts'
import type { Foundation } from './foundation.ts'
import type { PeopleModules } from './people-modules.ts'

export const composeHolds = ({ db, strict }: Foundation, { approvals, people }: PeopleModules, { engine }: Erasures) =>
  holdsModule({
    db,
    strict,
    requireApproval: approvals.useCases.approvals.requireApproval,
    exists: async (tx, kind, id) => {
      if (kind === 'account') return (await people.byId(tx, id)) !== undefined
      if (kind === 'project') return isProject(tx, id)
      return kind === 'agent' ? (await agentOf(tx, id)) !== null : await isStored(tx, kind, id)
    },
    namesOf: heldNames,
    onReleased: engine.runs.resumeHeld,
  })

export function composeStores(foundation: Foundation, { approvals }: Pick<PeopleModules, 'approvals'>) {
  const { assessedLocations, db, env, known, query, regions, sites, stateOf, storeLocations, strict } = foundation
  const fulfilled = fulfilledRegions(assessedLocations, regions.choosable)
  return storesModule({
    db,
    known,
    strict,
    stateOf,
    requireApproval: approvals.useCases.approvals.requireApproval,
    residency: env.KP_RESIDENCY ?? null,
    sites: assessSites(sites, assessedLocations),
    emailsInFolder: storeLocations.mail === 'folder',
    projectsOutside: async (most) => ({
      total: await projectsInRegions(query, fulfilled),
      ids: await idsInRegions(query, fulfilled, most),
    }),
    agentsOutside: async (most) => ({
      total: await agentsInRegions(query, fulfilled),
      ids: await agentIdsInRegions(query, fulfilled, most),
    }),
  })
}

export const composeResidency = ({ assessedLocations, env, regions }: Foundation) =>
  residencyModule({
    residency: env.KP_RESIDENCY,
    places: assessedLocations,
    choosable: regions.choosable,
    promised: { projects: projectsInRegions, agents: agentsInRegions },
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
