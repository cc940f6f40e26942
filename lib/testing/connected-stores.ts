import { randomBytes } from 'node:crypto'
import {
  CreateBucketCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3'
import { type BaseCheckpointSaver, emptyCheckpoint } from '@langchain/langgraph-checkpoint'
import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres'
import { PostgresStore } from '@langchain/langgraph-checkpoint-postgres/store'
import { createClient } from '@redis/client'
import neo4j from 'neo4j-driver'
import { v6 } from 'uuid'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { createPool } from '#lib/stores/postgres/pool.ts'
import { testApp } from './app.ts'
import { testDatabase } from './database.ts'
import { type Contents, graphOf, keysOf, rowsOf, storedObjectsOf, versionsOf } from './everything.ts'
import { neo4jPlanting } from './neo4j-planting.ts'
import { isRedisInstalled, startRedis } from './redis.ts'
import { isInstalled } from './services/installed.ts'
import { s3Credentials } from './services/objects.ts'
import { neo4jServer, s3Server } from './services/shared.ts'

/** Whether this machine can start all servers, for `describe.skipIf`. @throws under KP_REQUIRE_SERVICES when it cannot */
export const areStoresInstalled = async (): Promise<boolean> =>
  isInstalled('neo4j') && isInstalled('s3') && (await isRedisInstalled())

/** The servers with the stores of one installation. */
export interface StoreServers {
  graphUrl: string
  redisUrl: string
  s3Endpoint: string
  /** A separate database. */
  checkpointsUrl: string
}
const schema = 'threads'

/** The Neo4j and S3 servers of this test run, a new Redis and a new database. */
export async function storeServers(): Promise<StoreServers & { close(): Promise<void> }> {
  const redis = await startRedis()
  if (!redis) throw new Error('no Redis')
  const [graph, s3, database] = [await neo4jServer(), await s3Server(), await testDatabase()]
  return {
    graphUrl: graph.url,
    redisUrl: redis.url,
    s3Endpoint: s3.endpoint,
    checkpointsUrl: database.ownerUrl,
    async close() {
      await redis.stop()
      await database.drop()
    },
  }
}

/** A bucket with versioning, and direct access to it for tests. */
export async function versionedBucket(endpoint: string, bucket = `kp-${randomBytes(6).toString('hex')}`) {
  const { key: accessKeyId, secret: secretAccessKey } = s3Credentials
  const client = new S3Client({
    endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId, secretAccessKey },
  })
  await client.send(new CreateBucketCommand({ Bucket: bucket }))
  await client.send(new PutBucketVersioningCommand({ Bucket: bucket, VersioningConfiguration: { Status: 'Enabled' } }))
  const put = async (key: string, body: Uint8Array | string) => {
    await client.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: body }))
  }
  const versions = () => versionsOf(client, bucket)
  async function emptied(): Promise<void> {
    const there = await versions()
    for (const { Key, VersionId } of [...there.versions, ...there.markers])
      await client.send(new DeleteObjectCommand({ Bucket: bucket, Key, VersionId }))
  }
  return {
    client,
    name: bucket,
    url: `s3://${accessKeyId}:${secretAccessKey}@${new URL(endpoint).host}/${bucket}?region=us-east-1&tls=false&path_style=true`,
    put,
    contents: () => storedObjectsOf(client, bucket),
    /** Deletes every version. */
    emptied,
    /** Keeps all versions, oldest first. Returns a function that replaces the current content with them. */
    async retainedAside() {
      const retained: { key: string; bytes: Uint8Array }[] = []
      for (const { Key, VersionId } of (await versions()).versions.toReversed()) {
        const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key, VersionId }))
        retained.push({ key: Key ?? '', bytes: (await Body?.transformToByteArray()) ?? new Uint8Array() })
      }
      return async () => {
        await emptied()
        for (const { key, bytes } of retained) await put(key, bytes)
      }
    },
    close: () => client.destroy(),
  }
}

async function copiedKeys(url: string, from: number, to: number): Promise<void> {
  const client = createClient({ url, database: from })
  await client.connect()
  try {
    for await (const keys of client.scanIterator()) for (const key of keys) await client.copy(key, key, { DB: to })
  } finally {
    client.destroy()
  }
}
async function emptied(url: string, database: number): Promise<void> {
  const client = createClient({ url, database })
  await client.connect()
  await client.flushDb()
  client.destroy()
}

/** Kept keys are stored in another database of the same Redis. */
const [live, aside] = [0, 1]
/** Excludes the tables of {@link reservedThreads}. */
const rowsOfThreads = async (url: string): Promise<Contents> =>
  new Map([...(await rowsOf(url))].filter(([place]) => place.startsWith(`${schema}.`)))
const threadTables = ['checkpoints', 'checkpoint_blobs', 'checkpoint_writes', 'store']

/** Keeps the rows of all threads. Returns a function that replaces the current rows with them. */
async function reservedThreads(url: string): Promise<() => Promise<void>> {
  const at = (run: (table: string) => string) =>
    withConnection(url, (client) => client.query(threadTables.map(run).join(';')))
  await at((table) => `CREATE TABLE kept_${table} AS TABLE ${schema}.${table}`)
  return async () => {
    await at((table) => `TRUNCATE ${schema}.${table} CASCADE; INSERT INTO ${schema}.${table} TABLE kept_${table}`)
  }
}

/**
 * The four stores of one installation on these servers: the settings that connect it to them, and direct access for
 * tests. The graph server may contain other groups.
 */
export async function connectTestStores({ graphUrl, redisUrl, s3Endpoint, checkpointsUrl }: StoreServers) {
  const bucket = await versionedBucket(s3Endpoint)
  const checkpoints = new URL(checkpointsUrl)
  checkpoints.searchParams.set('schema', schema)
  // Tests stop the server, which ends idle connections.
  const pool = createPool({ connectionString: checkpointsUrl })
  const saver = new PostgresSaver(pool, undefined, { schema })
  await saver.setup()
  /** Opened for one query only, because a stopping server ends its connections. */
  async function inMemory(ask: (memory: PostgresStore) => Promise<void>): Promise<void> {
    const memory = PostgresStore.fromConnString(checkpointsUrl, { schema })
    await ask(memory).finally(() => memory.stop())
  }
  await inMemory((memory) => memory.setup())
  const planting = neo4jPlanting(graphUrl)
  const { username, password, host } = new URL(graphUrl)
  const driver = neo4j.driver(`bolt://${host}`, neo4j.auth.basic(username, decodeURIComponent(password)))
  const dropped = (group: string) =>
    driver.executeQuery('MATCH (n) WHERE n.group_id = $group DETACH DELETE n', { group })

  return {
    settings: {
      KP_GRAPH_URL: graphUrl,
      KP_REDIS_URL: redisUrl,
      KP_OBJECTS_URL: bucket.url,
      KP_CHECKPOINTS_URL: checkpoints.href,
    },
    planting,
    driver,
    /** Writes the checkpoints. */
    saver,
    s3: bucket.client,
    bucket: bucket.name,
    /** Puts an item into the long-term store next to the checkpoints. */
    remember: (namespace: string[], key: string, value: Record<string, unknown>) =>
      inMemory((memory) => memory.put(namespace, key, value)),
    /** Adds a version of an object. */
    putObject: bucket.put,
    /** The content of all stores, including every group of the graph server and its page records. */
    /** `group`: only what names it in the graph, which other tests of the run also write. */
    async everything(group?: string): Promise<Contents> {
      const graph = async (): Promise<Contents> =>
        new Map([...(await graphOf(driver))].filter(([, text]) => group === undefined || text.includes(group)))
      const parts = [rowsOfThreads(checkpointsUrl), graph(), keysOf(redisUrl), bucket.contents()]
      return new Map((await Promise.all(parts)).flatMap((contents) => [...contents]))
    },
    /** Keeps the current content, of the graph only one group. Returns a function that restores it. */
    async retainedAside(group: string): Promise<() => Promise<void>> {
      const graph = await planting.standing(group)
      const putBack = [await reservedThreads(checkpointsUrl), await bucket.retainedAside()]
      await copiedKeys(redisUrl, live, aside)
      return async () => {
        for (const put of putBack) await put()
        await emptied(redisUrl, live)
        await copiedKeys(redisUrl, aside, live)
        await dropped(group)
        await planting.plant(graph)
      }
    },
    /** Like {@link everything}, without values that differ between runs: version ids, and times that the planting sets. */
    async settled(group: string): Promise<Record<string, unknown>> {
      const unnamed = (contents: Contents) => [...contents.values()].sort()
      const threads = [...(await rowsOfThreads(checkpointsUrl))]
      return {
        threads: threads
          .map(([place, text]) => `${place.replace(/ \d+ /, ' ')}: ${text}`)
          // The message that replaces an erased one has a random id.
          .map((line) =>
            line.replace(/"id":"[0-9a-f-]{36}","content":"\[erased\]"/g, '"id":"<uuid>","content":"[erased]"'),
          )
          .sort(),
        keys: unnamed(await keysOf(redisUrl)),
        objects: unnamed(await bucket.contents()),
        graph: await planting.standing(group),
      }
    },
    /** Deletes all objects and threads, and what names `text` in the graph. */
    async emptied(text: string): Promise<void> {
      await bucket.emptied()
      await withConnection(checkpointsUrl, (client) =>
        client.query(threadTables.map((table) => `TRUNCATE ${schema}.${table} CASCADE`).join(';')),
      )
      await driver.executeQuery('MATCH (n) WHERE n.uuid CONTAINS $text DETACH DELETE n', { text })
    },
    /** Every node and edge of a group as JSON, edges with both ends. */
    async graphRows(group: string): Promise<string[]> {
      const { records } = await driver.executeQuery(
        `MATCH (n) WHERE n.group_id = $group RETURN labels(n) AS of, properties(n) AS p
         UNION ALL MATCH (a)-[r]->(b) WHERE a.group_id = $group RETURN [type(r), a.uuid, b.uuid] AS of, properties(r) AS p`,
        { group },
      )
      return records.map((record) => JSON.stringify({ ...record.get('p'), of: record.get('of') })).sort()
    },
    /** The keys of the pages of a run that the graph server has recorded. */
    async pagesOf(runId: string): Promise<string[]> {
      const { records } = await driver.executeQuery('MATCH (p:KnowledgePulsePage) RETURN p.key AS key')
      return records.map((record) => String(record.get('key'))).filter((key) => key.startsWith(runId))
    },
    async close() {
      bucket.close()
      await Promise.all([saver.end(), planting.close(), driver.close()])
    },
  }
}
export type ConnectedStores = Awaited<ReturnType<typeof connectTestStores>>

/** The application with every connected store, and the clients with which applications write into the stores. `afterAll(() => of?.close())`. */
export async function connectedTest(settings: Record<string, string> = {}) {
  const opened = new AsyncDisposableStack()
  try {
    const servers = opened.adopt(await storeServers(), (one) => one.close())
    const stores = opened.adopt(await connectTestStores(servers), (one) => one.close())
    const test = opened.adopt(await testApp({ ...stores.settings, ...settings }), (one) => one.close())
    const redis = opened.adopt(createClient({ url: servers.redisUrl }), (one) => one.destroy())
    await redis.connect()
    return { stores, test, driver: stores.driver, redis, close: () => opened.disposeAsync() }
  } catch (error) {
    await opened.disposeAsync()
    throw error
  }
}
export type ConnectedTest = Awaited<ReturnType<typeof connectedTest>>

/**
 * Writes a checkpoint of a thread with LangGraph's library for JavaScript.
 *
 * @param values its channels
 * @param at the time in the checkpoint's id, if not the present
 * @param writes what a task of the checkpoint wrote, by channel
 */
export async function writeThread(
  saver: BaseCheckpointSaver,
  thread: string,
  values: Record<string, unknown>,
  { at, writes = [] }: { at?: Date; writes?: [string, unknown][] } = {},
): Promise<void> {
  const versions = Object.fromEntries(Object.keys(values).map((channel) => [channel, 1]))
  const checkpoint = {
    ...emptyCheckpoint(),
    ...(at && { id: v6({ msecs: at.getTime() }) }),
    channel_values: values,
    channel_versions: versions,
  }
  const config = { configurable: { thread_id: thread, checkpoint_ns: '' } }
  const stored = await saver.put(config, checkpoint, { source: 'loop', step: 1, parents: {} }, versions)
  if (writes.length > 0) await saver.putWrites(stored, writes, 'task')
}
