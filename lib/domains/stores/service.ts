import type { z } from 'zod'
import type { Env } from '#lib/config/env.ts'
import { subjectPurpose } from '#lib/config/secret.ts'
import { agentIdsInRegions, agentsInRegions } from '#lib/domains/agents/queries.ts'
import { projectIdsInRegions, projectsInRegions } from '#lib/domains/projects/queries.ts'
import { plainTextPhrases } from '#lib/domains/sanitizer/sanitizer.ts'
import { type Approvable, approvable, type RequireApproval } from '#lib/kernel/approval.ts'
import type { RetainedRecord } from '#lib/kernel/data-source.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { adminChanges } from '#lib/stores/postgres/personal-tables.ts'
import { type RememberedPort, rememberedPorts } from '#lib/stores/registered-store.ts'
import type { StoreState } from '#lib/stores/store-state.ts'
import { listStores, type ProcessorView, retireStore, type StoreView } from './contract.ts'
import type { RegisteredStores } from './registered-stores.ts'
import { inventoryOf, travelsTo } from './rules.ts'
import { type StoreSearchDeps, storeSearch } from './search.ts'

/** A store or processor of the settings, with its jurisdiction from the table of regions. */
interface AssessedSite {
  kind: 'store' | 'processor'
  name: string
  port: RememberedPort | null
  provider: string
  address: string | null
  region: string | null
  regionSource: StoreView['region_source']
  host: string | null
  country: string | null
  jurisdiction: StoreView['jurisdiction']
}
interface RequestedState extends Omit<StoreState, 'state'> {
  state: 'ok' | 'degraded' | 'down'
}
export interface StoresServiceDeps {
  db: Database
  storeRegistry: RegisteredStores
  env: Pick<Env, 'KP_RESIDENCY'>
  sites: readonly AssessedSite[]
  /** The state of a store. Undefined for one that cannot be checked. */
  stateOf(name: string): Promise<RequestedState | undefined>
  facts: { emailsInFolder: boolean }
  /** The regions in which every store and processor is. Projects and agents that require another region are listed. */
  fulfilledRegions: readonly string[]
  strict: boolean
  requireApproval: RequireApproval
  search: StoreSearchDeps
}

interface KnownRow {
  id: string
  port: string
  provider: string
  address: string
  shown: string
  firstSeen: Date
  lastSeen: Date
}

const placeOf = (site: AssessedSite) => ({
  name: site.name,
  provider: site.provider,
  address: site.address,
  region: site.region,
  region_source: site.regionSource,
  host: site.host,
  country: site.country,
  jurisdiction: site.jurisdiction,
})
const processorView = (site: AssessedSite): ProcessorView => ({ ...placeOf(site), travels: travelsTo(site.name) })

/** Maximum number of reported project and agent ids. */
const maxNamed = 100

async function connectedView(
  { storeRegistry, stateOf, facts }: StoresServiceDeps,
  site: AssessedSite,
  rows: readonly KnownRow[],
): Promise<z.input<typeof StoreView>> {
  const asked = await stateOf(site.name)
  const own = site.port === null ? undefined : await storeRegistry.addressOf(site.port)
  const row = rows.find(({ port, address }) => port === site.port && address === own)
  return {
    ...placeOf(site),
    port: site.port,
    state: asked?.state ?? 'unchecked',
    latency_ms: asked ? Math.round(asked.latency * 10) / 10 : null,
    detail: asked?.detail ?? null,
    holds: inventoryOf(site.name, facts.emailsInFolder),
    is_connected: true,
    known_store_id: row?.id ?? null,
    first_seen: row?.firstSeen ?? null,
    last_seen: row?.lastSeen ?? null,
  }
}

const disconnectedView = (row: KnownRow, port: RememberedPort, emailsInFolder: boolean): z.input<typeof StoreView> => ({
  name: port,
  port,
  provider: row.provider,
  address: row.shown,
  region: null,
  region_source: null,
  host: null,
  country: null,
  jurisdiction: 'unknown',
  state: 'off',
  latency_ms: null,
  detail: null,
  holds: inventoryOf(port, emailsInFolder),
  is_connected: false,
  known_store_id: row.id,
  first_seen: row.firstSeen,
  last_seen: row.lastSeen,
})

const list = (deps: StoresServiceDeps) => {
  const { db, storeRegistry, env, sites } = deps
  return read(listStores, async () => {
    const rows = await db.prisma.knownStore.findMany({ where: { retiredAt: null }, orderBy: { firstSeen: 'asc' } })
    const stores = await Promise.all(
      sites.filter(({ kind }) => kind === 'store').map((site) => connectedView(deps, site, rows)),
    )
    const off = (
      await Promise.all(
        rememberedPorts.map(async (port) => (await storeRegistry.missing(port)()).map((row) => [row, port] as const)),
      )
    ).flat()
    const byId = new Map(rows.map((row) => [row.id, row]))
    const projects = await projectsInRegions(db, deps.fulfilledRegions)
    const agents = await agentsInRegions(db, deps.fulfilledRegions)
    return {
      body: {
        data: {
          residency: env.KP_RESIDENCY ?? null,
          projects_outside: {
            total: projects,
            project_ids: await projectIdsInRegions(db, deps.fulfilledRegions, maxNamed),
          },
          agents_outside: {
            total: agents,
            agent_ids: await agentIdsInRegions(db, deps.fulfilledRegions, maxNamed),
          },
          stores: [
            ...stores,
            ...off.flatMap(([{ id }, port]) => {
              const row = byId.get(id)
              return row ? [disconnectedView(row, port, deps.facts.emailsInFolder)] : []
            }),
          ],
          processors: sites.filter(({ kind }) => kind === 'processor').map(processorView),
        },
      },
      resourceId: 'list',
      details: { count: stores.length, off: off.length, projects_outside: projects, agents_outside: agents },
    }
  })
}

const retire = ({
  storeRegistry,
  requireApproval,
  strict,
}: Pick<StoresServiceDeps, 'storeRegistry' | 'requireApproval' | 'strict'>) =>
  mutation(retireStore, async (ctx, { params, body }) => {
    const { tx, now, actor } = ctx
    const { id } = params
    const statement = plainTextPhrases(body.statement, 'statement', strict, 'The store is not retired.')
    const record = await tx.knownStore.findUnique({ where: { id } })
    if (!record || record.retiredAt !== null)
      throw new Problem('not_found', 'There is no such store, or it was retired before.')
    const port = rememberedPorts.find((one) => one === record.port)
    if (port !== undefined && record.address === (await storeRegistry.addressOf(port)))
      throw new Problem(
        'conflict',
        'This store is connected. Remove it from the settings and restart before you retire it.',
      )
    await requireApproval(ctx, { operation: retireStore, input: { params, body } })
    await tx.knownStore.update({ where: { id }, data: { retiredAt: now, retiredBy: actor.id, statement } })
    return {
      body: {
        data: {
          id,
          port: record.port,
          provider: record.provider,
          address: record.shown,
          retired_at: now,
          retired_by: actor.id,
        },
      },
      resourceId: id,
      details: { port: record.port, provider: record.provider },
    }
  })

/** Lists stores and processors with their regions, and stores that are no longer connected. */
const storesService = (deps: StoresServiceDeps) => ({
  list: list(deps),
  retire: retire(deps),
  search: storeSearch(deps.search),
})

/** Retiring a store: erasures no longer search it, so another admin may have to approve. */
export const storeApprovables: readonly Approvable[] = [
  approvable(retireStore, async (tx, { params: { id }, body: { statement } }) => {
    const row = await tx.knownStore.findUnique({ where: { id, retiredAt: null } })
    if (!row) throw new Problem('not_found', 'There is no such store, or it was retired before.')
    return { facts: { store: row.shown, provider: row.provider, reason: statement } }
  }),
]

/** The audit entries that name an admin who retired a store. They are retained when the admin's data is erased. */
const retainedStoreRecords = (db: Database): RetainedRecord[] => [
  adminChanges(db, {
    name: 'stores.acts',
    what: 'stores that you retired',
    table: 'known_stores',
    by: ['retired_by'],
    at: 'retired_at',
  }),
]

export const storesData = (db: Database): PersonalData => ({ retainedRecords: retainedStoreRecords(db) })

/** Connected stores and their regions. */
export const storesModule = ({
  keyFor,
  approvals,
  ...deps
}: Omit<StoresServiceDeps, 'search' | 'requireApproval'> & {
  keyFor(purpose: string): () => Uint8Array
  approvals: { requireApproval: RequireApproval; isRequired(): Promise<boolean> }
  search: Pick<StoreSearchDeps, 'search' | 'identifies'>
}) => ({
  useCases: {
    residency: storesService({
      ...deps,
      requireApproval: approvals.requireApproval,
      search: { ...deps.search, key: keyFor(subjectPurpose), needsApprovals: approvals.isRequired },
    }),
  },
})
