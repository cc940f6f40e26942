import type { Endpoint } from '#lib/client/request.ts'
import type { assignNamespaces } from '#lib/domains/accounts/contract.ts'
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

export type ShownJurisdiction = 'eea' | 'outside' | 'unknown'

/** The counts of the page. The location of a store that is switched off counts as unknown. */
export function locationCountsOf({ stores, processors }: Pick<StoresView, 'stores' | 'processors'>) {
  const locations: ShownLocation[] = [...stores, ...processors]
  const of = (jurisdiction: ShownJurisdiction) =>
    locations.filter((location) => location.jurisdiction === jurisdiction).length
  return {
    stores: stores.length,
    processors: processors.length,
    eea: of('eea'),
    outside: of('outside'),
    unknown: of('unknown'),
    down: stores.filter(({ state }) => state === 'down').length,
    off: stores.filter(({ state }) => state === 'off').length,
  }
}
