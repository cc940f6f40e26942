import { receiptText } from '#lib/kernel/receipt-texts.ts'
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
        return [{ what: receiptText('physical', 'graph'), days: null }]
      if (store === 'cache' && cache.provider === 'redis')
        return [
          {
            what: receiptText('physical', 'cache'),
            days: null,
          },
        ]
      if (store === 'checkpoints' && hasOtherCheckpoints)
        return [{ what: receiptText('physical', 'checkpoints'), days: null }]
      if (store !== 'objects' || objects.provider === 'files') return []
      const seconds = await objects.residueSeconds()
      return seconds === 0
        ? [{ what: receiptText('physical', 'objects'), days: null }]
        : [
            {
              what: receiptText('physical', 'softDeleted'),
              days: seconds / daySeconds,
            },
          ]
    }
    return (await Promise.all(stores.map(of))).flat()
  }
