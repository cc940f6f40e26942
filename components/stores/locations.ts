import type { Endpoint } from '#lib/client/request.ts'
import type { assignNamespaces } from '#lib/domains/accounts/namespaces-contract.ts'
import type { listStores, ProcessorView, retireStore, StoreView } from '#lib/domains/stores/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'

export const retireAt: Endpoint<typeof retireStore> = { method: 'post', path: '/api/stores/{id}/retire' }
export const assignNamespacesAt: Endpoint<typeof assignNamespaces> = {
  method: 'put',
  path: '/api/admin/organisations/{id}/namespaces',
}
export type StoresView = Output<typeof listStores>['data']
export type Store = StoreView
export type Processor = ProcessorView
type ShownLocation = Store | Processor

export const shownLocationNames = [
  'postgresql',
  'files',
  'ledger',
  'snapshot_keys',
  'exports',
  'backups',
  'graph',
  'checkpoints',
  'cache',
  'objects',
  'limits',
  'mail',
  'oidc',
  'llm',
  'presidio',
  'posthog',
] as const
/** The message key of a store or processor; undefined if it has no translation. */
export const locationKey = (name: string) => shownLocationNames.find((one) => one === name)

export const jurisdictions = ['eea', 'outside', 'unknown'] as const
export type ShownJurisdiction = (typeof jurisdictions)[number]

/** The counts for the first line of the page. The location of a store that is switched off counts as unknown. */
export function locationCountsOf({ stores, processors }: Pick<StoresView, 'stores' | 'processors'>) {
  const locations: ShownLocation[] = [...stores, ...processors]
  const of = (jurisdiction: ShownJurisdiction) =>
    locations.filter((location) => location.jurisdiction === jurisdiction).length
  const [outside, unknown] = [of('outside'), of('unknown')]
  return {
    stores: stores.length,
    processors: processors.length,
    outside,
    unknown,
    /** The headline: places outside the EEA take precedence over unknown places. */
    told: outside > 0 ? 'outside' : unknown === locations.length ? 'none' : unknown > 0 ? 'unknown' : 'eea',
    down: stores.filter(({ state }) => state === 'down').length,
    off: stores.filter(({ state }) => state === 'off').length,
  }
}

export interface Territory {
  jurisdiction: ShownJurisdiction
  regions: { region: string | null; country: string | null; lies: Store[]; travels: Processor[] }[]
}
/** Stores and processors by jurisdiction and region: EEA first, unknown regions last. Empty jurisdictions are omitted. */
export function territoriesOf({ stores, processors }: Pick<StoresView, 'stores' | 'processors'>): Territory[] {
  return jurisdictions.flatMap((jurisdiction) => {
    const isHere = (location: ShownLocation) => location.jurisdiction === jurisdiction
    const here: ShownLocation[] = [...stores, ...processors].filter(isHere)
    const names = [...new Set(here.map(({ region }) => region))].toSorted((one, other) =>
      one === null ? 1 : other === null ? -1 : one.localeCompare(other),
    )
    if (here.length === 0) return []
    const regions = names.map((region) => ({
      region,
      country: here.find((location) => location.region === region)?.country ?? null,
      lies: stores.filter((place) => isHere(place) && place.region === region),
      travels: processors.filter((place) => isHere(place) && place.region === region),
    }))
    return [{ jurisdiction, regions }]
  })
}
