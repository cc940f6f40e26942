import type { Endpoint } from '#lib/client/request.ts'
import type { assignNamespaces } from '#lib/domains/accounts/namespaces-contract.ts'
import type { listStores, ProcessorView, retireStore, StoreView } from '#lib/domains/stores/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'

export const retireAt: Endpoint<typeof retireStore> = { method: 'post', path: '/api/stores/{id}/retire' }
export const assignNamespacesAt: Endpoint<typeof assignNamespaces> = {
  method: 'put',
  path: '/api/admin/organisations/{id}/namespaces',
}
export type Stores = Output<typeof listStores>['data']
export type Store = StoreView
export type Processor = ProcessorView
type Place = Store | Processor

export const placeNames = [
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
/** The key of the words on a place; undefined: it keeps its own name. */
export const placeKey = (name: string) => placeNames.find((one) => one === name)

export const jurisdictions = ['eea', 'outside', 'unknown'] as const
export type Jurisdiction = (typeof jurisdictions)[number]

/** What the page's first line says; what is switched off lies nowhere that anybody has said. */
export function countsOf({ stores, processors }: Pick<Stores, 'stores' | 'processors'>) {
  const places: Place[] = [...stores, ...processors]
  const of = (jurisdiction: Jurisdiction) => places.filter((place) => place.jurisdiction === jurisdiction).length
  const [outside, unknown] = [of('outside'), of('unknown')]
  return {
    stores: stores.length,
    processors: processors.length,
    outside,
    unknown,
    /** What is said of them: what is outside comes before what nobody has said. */
    told: outside > 0 ? 'outside' : unknown === places.length ? 'none' : unknown > 0 ? 'unknown' : 'eea',
    down: stores.filter(({ state }) => state === 'down').length,
    off: stores.filter(({ state }) => state === 'off').length,
  }
}

export interface Territory {
  jurisdiction: Jurisdiction
  regions: { region: string | null; country: string | null; lies: Store[]; travels: Processor[] }[]
}
/** Places by jurisdiction and region: those inside first, regions that nobody has said last. Empty jurisdictions are left out. */
export function territoriesOf({ stores, processors }: Pick<Stores, 'stores' | 'processors'>): Territory[] {
  return jurisdictions.flatMap((jurisdiction) => {
    const isHere = (place: Place) => place.jurisdiction === jurisdiction
    const here: Place[] = [...stores, ...processors].filter(isHere)
    const names = [...new Set(here.map(({ region }) => region))].toSorted((one, other) =>
      one === null ? 1 : other === null ? -1 : one.localeCompare(other),
    )
    if (here.length === 0) return []
    const regions = names.map((region) => ({
      region,
      country: here.find((place) => place.region === region)?.country ?? null,
      lies: stores.filter((place) => isHere(place) && place.region === region),
      travels: processors.filter((place) => isHere(place) && place.region === region),
    }))
    return [{ jurisdiction, regions }]
  })
}
