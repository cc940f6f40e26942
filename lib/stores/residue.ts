import type { CacheStore } from '#lib/stores/cache/cache.ts'
import type { GraphStore } from '#lib/stores/graph/graph.ts'
import type { ObjectStore } from '#lib/stores/objects/objects.ts'

const daySeconds = 86_400

/**
 * What connected stores retain of deleted data, for receipts. It cannot be reached through their interfaces, except where the text says
 * so. Our own stores are described with the database. `days` is null if it depends on how the store is operated. @throws `unavailable`
 * if a store has to be queried and does not respond
 */
export const residueIn =
  (
    { graph, cache, objects }: { graph: GraphStore; cache: CacheStore; objects: ObjectStore },
    { hasOtherCheckpoints }: { hasOtherCheckpoints: boolean },
  ) =>
  async (stores: readonly string[]): Promise<{ what: string; days: number | null }[]> => {
    const of = async (store: string): Promise<{ what: string; days: number | null }[]> => {
      if (store === 'graph' && graph.provider === 'neo4j')
        return [{ what: 'transaction logs of the graph database, until it prunes them', days: null }]
      if (store === 'cache' && cache.provider === 'redis')
        return [
          {
            what: 'the append-only file and snapshots of the cache, and deleted entries of its streams, until they are rewritten',
            days: null,
          },
        ]
      if (store === 'checkpoints' && hasOtherCheckpoints)
        return [{ what: 'dead rows and the write-ahead log of the checkpoints’ database', days: null }]
      if (store !== 'objects' || objects.provider === 'files') return []
      const seconds = await objects.residueSeconds()
      return seconds === 0
        ? [{ what: 'what the object store’s provider keeps of deleted objects for itself', days: null }]
        : [
            {
              what: 'objects in the object store’s soft deletion, which its owner could restore',
              days: seconds / daySeconds,
            },
          ]
    }
    return (await Promise.all(stores.map(of))).flat()
  }
