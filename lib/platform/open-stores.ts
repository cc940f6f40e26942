import { areSnapshotKeysInBucket, exportsFolder, snapshotKeysFolder } from '#lib/config/data-folder.ts'
import type { Env } from '#lib/config/env.ts'
import { ownDatabaseLocation, type Site } from '#lib/config/locations.ts'
import { hasNoExport } from '#lib/domains/exports/export-files.ts'
import { projectsNameObjects } from '#lib/domains/projects/queries.ts'
import { keyFolderMark } from '#lib/domains/snapshots/key-files.ts'
import { snapshotsNameObjects } from '#lib/domains/snapshots/repository.ts'
import { type ConnectedStore, connectedStoresOf } from '#lib/domains/stores/registered-stores.ts'
import { exportsCountFor } from '#lib/domains/stores/rules.ts'
import { memoize } from '#lib/kernel/concurrency.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { receiptText } from '#lib/kernel/receipt-texts.ts'
import type { CacheStore } from '#lib/stores/cache/cache.ts'
import { memoryCache } from '#lib/stores/cache/memory.ts'
import { redisCache } from '#lib/stores/cache/redis.ts'
import type { CheckpointStore } from '#lib/stores/checkpoints/checkpoints.ts'
import { otherCheckpoints, ownCheckpoints } from '#lib/stores/checkpoints/connected-checkpoints.ts'
import type { GraphStore } from '#lib/stores/graph/graph.ts'
import { isEmptyGraph, postgresGraph } from '#lib/stores/graph/postgres-graph.ts'
import { hasNoRow, type LedgerSettings, ledgerFolder } from '#lib/stores/ledger/ledger-place.ts'
import { objectsAddress } from '#lib/stores/objects/address.ts'
import { fileObjects, hasNoObject } from '#lib/stores/objects/files.ts'
import type { ObjectStore } from '#lib/stores/objects/objects.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { RunQuery } from '#lib/stores/postgres/statement.ts'
import { addressHash, folderMark, type RegisteredStore, type StorePort } from '#lib/stores/registered-store.ts'
import { anyCheckpointRow, existingTable, qualifiedCheckpointTables } from './repository.ts'

/** Opens Redis if a URL is given (`redis[s]://…`), otherwise a cache in memory. It connects on first use. */
const openCache = (redisUrl: string | undefined): CacheStore =>
  redisUrl === undefined ? memoryCache() : redisCache(redisUrl)

type StoreSettings = Pick<
  Env,
  | 'DATABASE_URL'
  | 'KP_DATA_DIR'
  | 'KP_FILES_URL'
  | 'KP_GRAPH_URL'
  | 'KP_REDIS_URL'
  | 'KP_OBJECTS_URL'
  | 'KP_CHECKPOINTS_URL'
>

/** The stores outside our own tables for data derived from people's messages. */
export interface OpenStores {
  graph: GraphStore
  cache: CacheStore
  objects: ObjectStore
  checkpoints: CheckpointStore
  /** The bucket of files that no application reads, if one is set: prepared exports and snapshot keys. */
  files: ObjectStore | undefined
  close(): Promise<void>
}

const quiet: ReadonlySet<PropertyKey> = new Set(['state', 'close', 'residueSeconds', 'lifetimes'])

/** The same store, which calls `used` before each access. */
function withUseRecorded<T extends object>(store: T, used: (isPut: boolean) => Promise<void>): T {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== 'function') return member
      if (quiet.has(name)) return member.bind(target)
      return async (...args: unknown[]) => {
        await used(name === 'put')
        return Reflect.apply(member, target, args)
      }
    },
  })
}

/** Loads a store on first use, and closes it only if it was loaded. */
function loaded<T extends { close(): Promise<void> }>(load: () => Promise<T>) {
  let asked = false
  const store = memoize(() => {
    asked = true
    return load()
  })
  return { store, close: async () => (asked ? (await store()).close() : undefined) }
}

// The drivers of Neo4j, AWS and Google are large, so they are loaded only if needed.
function laterGraph(provider: GraphStore['provider'], load: () => Promise<GraphStore>): GraphStore {
  const { store, close } = loaded(load)
  return {
    provider,
    state: async () => (await store()).state(),
    read: async (...asked) => (await store()).read(...asked),
    change: async (...asked) => (await store()).change(...asked),
    forget: async (...asked) => (await store()).forget(...asked),
    groupsOf: async (...asked) => (await store()).groupsOf(...asked),
    list: async (...asked) => (await store()).list(...asked),
    episodes: async (...asked) => (await store()).episodes(...asked),
    search: async (...asked) => (await store()).search(...asked),
    namesIn: async (...asked) => (await store()).namesIn(...asked),
    factsAt: async (...asked) => (await store()).factsAt(...asked),
    episodesById: async (...asked) => (await store()).episodesById(...asked),
    texts: async (...asked) => (await store()).texts(...asked),
    page: async (...asked) => (await store()).page(...asked),
    cutUngrouped: async (...asked) => (await store()).cutUngrouped(...asked),
    textsWith: async (...asked) => (await store()).textsWith(...asked),
    bareEntities: async (...asked) => (await store()).bareEntities(...asked),
    exposedTexts: async (...asked) => (await store()).exposedTexts(...asked),
    residue: async (...asked) => (await store()).residue(...asked),
    dropGroup: async (...asked) => (await store()).dropGroup(...asked),
    countGroup: async (...asked) => (await store()).countGroup(...asked),
    close,
  }
}
function laterObjects(provider: ObjectStore['provider'], load: () => Promise<ObjectStore>): ObjectStore {
  const { store, close } = loaded(load)
  return {
    provider,
    state: async () => (await store()).state(),
    put: async (...asked) => (await store()).put(...asked),
    get: async (...asked) => (await store()).get(...asked),
    versions: async (...asked) => (await store()).versions(...asked),
    erase: async (...asked) => (await store()).erase(...asked),
    read: async (...asked) => (await store()).read(...asked),
    replace: async (...asked) => (await store()).replace(...asked),
    eraseVersions: async (...asked) => (await store()).eraseVersions(...asked),
    list: async (...asked) => (await store()).list(...asked),
    residueSeconds: async () => (await store()).residueSeconds(),
    close,
  }
}

function openGraph(url: string | undefined, db: Database): GraphStore {
  if (url === undefined) return postgresGraph(db)
  return laterGraph('neo4j', async () => (await import('#lib/stores/graph/neo4j-graph.ts')).neo4jGraph(url))
}
function openObjects(url: string | undefined, dataDir: string): ObjectStore {
  const address = objectsAddress(url, dataDir)
  if (address.provider === 'files') return fileObjects(address.folder)
  return address.provider === 's3'
    ? laterObjects('s3', async () => (await import('#lib/stores/objects/s3.ts')).s3Objects(address))
    : laterObjects('gcs', async () => (await import('#lib/stores/objects/gcs.ts')).gcsObjects(address))
}

/** The configured stores, with defaults that need no server. Each connects on first use; `used` is called before every use. */
export function openStores(
  env: StoreSettings,
  db: Database,
  used: (port: StorePort, isPut?: boolean) => Promise<void> = async () => {},
): OpenStores {
  const graph = openGraph(env.KP_GRAPH_URL, db)
  const cache = openCache(env.KP_REDIS_URL)
  const objects = openObjects(env.KP_OBJECTS_URL, env.KP_DATA_DIR)
  const checkpoints =
    env.KP_CHECKPOINTS_URL === undefined ? ownCheckpoints(db) : otherCheckpoints(env.KP_CHECKPOINTS_URL)
  const files = env.KP_FILES_URL === undefined ? undefined : openObjects(env.KP_FILES_URL, env.KP_DATA_DIR)
  return {
    files,
    graph: withUseRecorded(graph, () => used('graph')),
    cache: withUseRecorded(cache, () => used('cache')),
    objects: withUseRecorded(objects, (isPut) => used('objects', isPut)),
    checkpoints: withUseRecorded(checkpoints, () => used('checkpoints')),
    async close() {
      await Promise.all([graph.close(), cache.close(), objects.close(), checkpoints.close(), files?.close()])
    },
  }
}

/** Whether any row references an object. */
const areObjectsNamed = async (query: RunQuery): Promise<boolean> =>
  (await projectsNameObjects(query)) || (await snapshotsNameObjects(query))
/** The mark that identifies a folder of objects. */
export const objectFolderMark = (folder: string) => folderMark(folder, hasNoObject)

/** Every store of these settings that stores data permanently: identified by its address, or a folder by its mark. */
export function rememberedStores(
  env: Pick<Env, 'KP_OBJECTS_URL' | 'KP_SNAPSHOT_KEYS_DIR' | 'KP_FILES_URL'> & LedgerSettings,
  sites: readonly Site[],
): ConnectedStore[] {
  const [ledger, keys, exported] = [ledgerFolder(env), snapshotKeysFolder(env), exportsFolder(env)]
  const objects = objectsAddress(env.KP_OBJECTS_URL, env.KP_DATA_DIR)
  return [
    ...connectedStoresOf(sites).map((store) =>
      store.port === 'exports'
        ? { ...store, countsFor: exportsCountFor }
        : store.port === 'objects' && objects.provider === 'files' && typeof store.identity === 'string'
          ? {
              ...store,
              identity: objectFolderMark(objects.folder),
              isSole: true,
              formerly: {
                identity: store.identity,
                isBare: () => hasNoObject(objects.folder),
                isNamed: areObjectsNamed,
              },
            }
          : store,
    ),
    {
      port: 'ledger',
      provider: 'files',
      shown: `file:${ledger}`,
      identity: folderMark(ledger, hasNoRow),
      isSole: true,
    },
    ...(areSnapshotKeysInBucket(env)
      ? []
      : [
          {
            port: 'snapshot_keys',
            provider: 'files',
            shown: `file:${keys}`,
            identity: { read: () => keyFolderMark(keys) },
          } as const,
        ]),
    ...(env.KP_FILES_URL === undefined
      ? [
          {
            port: 'exports',
            provider: 'files',
            shown: `file:${exported}`,
            isSole: true,
            identity: folderMark(exported, hasNoExport),
            countsFor: exportsCountFor,
          } as const,
        ]
      : []),
  ]
}

async function hasNoThread(tx: Transaction): Promise<boolean> {
  for (const table of qualifiedCheckpointTables) {
    const [existing] = await existingTable(tx, { name: table })
    if (existing?.name != null && (await anyCheckpointRow(tx, {}, table)).length > 0) return false
  }
  return true
}

/**
 * Whether a store that was replaced by another is empty. Only tables of our database and folders of this machine can be checked; for all
 * others it returns false.
 */
export async function isEmptyStore(
  { port, provider, address, shown }: RegisteredStore,
  tx: Transaction,
): Promise<boolean> {
  if (port === 'objects' && provider === 'files') {
    const folder = shown.replace(/^file:/, '')
    // The mark distinguishes the folder from one that replaced it. Stores from before marks existed are known by their path.
    const names = [await objectFolderMark(folder).read(), 'own', folder]
    const isThatOne = names.some((name) => name !== undefined && addressHash(provider, name) === address)
    return isThatOne && hasNoObject(folder)
  }
  if (shown !== ownDatabaseLocation) return false
  return port === 'graph' ? isEmptyGraph(tx) : port === 'checkpoints' && hasNoThread(tx)
}

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
