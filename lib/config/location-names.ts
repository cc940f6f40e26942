import type { StoreLocation } from '#lib/domains/residency/rules.ts'
import type { StoreLocations } from './locations.ts'

const ownBuckets = {
  s3: 'the S3 bucket that the operator set for them, apart from the database and the objects',
  gcs: 'the Google Cloud Storage bucket that the operator set for them, apart from the database and the objects',
}
const words = {
  postgresql: {
    embedded: 'the embedded PostgreSQL on this installation’s machine',
    server: 'PostgreSQL on the operator’s server',
  },
  files: { folder: 'the data folder of this installation' },
  ledger: {
    folder: 'the data folder of this installation, outside the database',
    apart: 'the folder that the operator set for it, apart from the database',
  },
  snapshot_keys: {
    folder: 'the data folder of this installation, outside the database',
    apart: 'the folder that the operator set for it, apart from the database',
    s3: ownBuckets.s3,
    gcs: ownBuckets.gcs,
  },
  exports: { folder: 'the data folder of this installation', s3: ownBuckets.s3, gcs: ownBuckets.gcs },
  graph: { here: 'tables of this installation’s database', neo4j: 'the Neo4j that the operator connected' },
  cache: { here: 'the memory of this installation', redis: 'the Redis that the operator connected' },
  objects: {
    folder: 'a folder on this installation’s machine',
    s3: 'the S3 bucket that the operator connected',
    gcs: 'the Google Cloud Storage bucket that the operator connected',
  },
  checkpoints: { here: 'this installation’s database', server: 'the other PostgreSQL that the operator connected' },
}
const kindOf = (storeLocations: StoreLocations, store: string): string | undefined => {
  if (store === 'postgresql') return words.postgresql[storeLocations.postgresql]
  if (store === 'ledger') return words.ledger[storeLocations.ledger]
  if (store === 'snapshot_keys') return words.snapshot_keys[storeLocations.snapshot_keys]
  if (store === 'graph') return words.graph[storeLocations.graph]
  if (store === 'cache') return words.cache[storeLocations.cache]
  if (store === 'objects') return words.objects[storeLocations.objects]
  if (store === 'checkpoints') return words.checkpoints[storeLocations.checkpoints]
  if (store === 'exports') return words.exports[storeLocations.exports]
  return store === 'files' ? words.files[storeLocations.files] : undefined
}
/** Describes where a store is, for the inventory, with its region if known. Never contains an address. */
export function storeLocationNamed(
  storeLocations: StoreLocations,
  store: string,
  assessedLocations: readonly StoreLocation[] = [],
): string {
  const kind = kindOf(storeLocations, store) ?? 'this installation'
  const at = assessedLocations.find(({ name }) => name === store)
  if (at?.region == null) return kind
  return `${kind}, in ${at.region} (${[at.provider === 'own' ? null : at.provider, at.country].filter((word) => word !== null).join(', ')})`
}
