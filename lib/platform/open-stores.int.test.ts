import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ownDatabaseLocation } from '#lib/config/locations.ts'
import type { RegisteredStore } from '#lib/stores/registered-store.ts'
import { addressHash } from '#lib/stores/registered-store.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { isEmptyStore, objectFolderMark, openStores } from './open-stores.ts'

let test: TestApp
beforeAll(async () => {
  test = await testApp()
})
afterAll(() => test?.close())

const store = (port: string, provider: string, shown: string, identity: string): RegisteredStore => ({
  id: 'store_x',
  port,
  provider,
  address: addressHash(provider, identity),
  shown,
  firstSeen: test.clock.now(),
  lastSeen: test.clock.now(),
})
const isEmpty = (port: string, provider: string, shown = ownDatabaseLocation, identity = 'own') =>
  test.db.transaction((tx) => isEmptyStore(store(port, provider, shown, identity), tx))

it('isEmptyStore checks former tables of our database and folders of this machine', async () => {
  expect(await isEmpty('graph', 'postgresql')).toBe(true)
  await test.db.prisma.graphEntity.create({
    data: {
      groupId: 'g',
      uuid: 'u',
      name: 'n',
      labels: [],
      summary: '',
      nameEmbedding: [],
      createdAt: test.clock.now(),
    },
  })
  expect(await isEmpty('graph', 'postgresql')).toBe(false)

  expect(await isEmpty('checkpoints', 'postgresql')).toBe(true)
  await test.db.pool.query(
    `INSERT INTO langgraph.checkpoints (thread_id, checkpoint_id, checkpoint, metadata) VALUES ('t', 'c', '{}', '{}')`,
  )
  expect(await isEmpty('checkpoints', 'postgresql')).toBe(false)

  const folder = join(test.dataDir, 'left')
  const { make, read } = objectFolderMark(folder)
  const lies = async (identity: string) => !(await isEmpty('objects', 'files', `file:${folder}`, identity))
  // Under its identity from before it had a mark.
  expect(await lies(folder)).toBe(false)
  mkdirSync(join(folder, 'projects', 'p'), { recursive: true })
  expect(await make(false)).toBe(false)
  expect(await lies(folder)).toBe(false)
  writeFileSync(join(folder, 'projects', 'p', 'x.o'), '')
  expect(await lies(folder)).toBe(true)
  // A folder without this mark is a different one, so the store is not known to be empty.
  expect(await lies('a mark')).toBe(true)
  expect(await make(false)).toBe(true)
  const mark = (await read()) ?? ''
  expect(await lies(mark)).toBe(true)
  rmSync(join(folder, 'projects'), { recursive: true })
  expect([await lies(mark), await lies('a mark')]).toEqual([false, true])
})

it('isEmptyStore returns false for any other store', async () => {
  expect(await isEmpty('graph', 'neo4j', 'bolt://127.0.0.1:1/neo4j')).toBe(false)
  expect(await isEmpty('cache', 'redis', 'redis://127.0.0.1:1/0')).toBe(false)
  expect(await isEmpty('objects', 's3', 's3://bucket')).toBe(false)
})

it('openStores connects to nothing, and every method except state reports the use of the store first', async () => {
  const used: string[] = []
  const stores = openStores(
    {
      DATABASE_URL: undefined,
      KP_DATA_DIR: test.dataDir,
      KP_GRAPH_URL: 'bolt://127.0.0.1:1',
      KP_REDIS_URL: undefined,
      KP_OBJECTS_URL: 's3://key:secret@127.0.0.1:1/bucket?tls=false',
      KP_CHECKPOINTS_URL: undefined,
    },
    test.db,
    async (port) => {
      used.push(port)
    },
  )
  expect([stores.graph.provider, stores.cache.provider, stores.objects.provider, stores.checkpoints.provider]).toEqual([
    'neo4j',
    'memory',
    's3',
    'postgresql',
  ])
  expect(await stores.objects.state()).toMatchObject({ state: 'down' })
  expect(used).toEqual([])
  await expect(stores.objects.list('', '', 1)).rejects.toMatchObject({ code: 'unavailable' })
  await stores.cache.set('k', 'v', { ttl: 60, about: [] })
  await test.db.transaction((tx) => stores.checkpoints.present(['t'], tx))
  expect(used).toEqual(['objects', 'cache', 'checkpoints'])
  await stores.close()
})

it('openStores rejects the use of a store when that use cannot be recorded', async () => {
  const stores = openStores(
    {
      DATABASE_URL: undefined,
      KP_DATA_DIR: test.dataDir,
      KP_GRAPH_URL: undefined,
      KP_REDIS_URL: undefined,
      KP_OBJECTS_URL: undefined,
      KP_CHECKPOINTS_URL: undefined,
    },
    test.db,
    async () => {
      throw new Error('not written down')
    },
  )
  await expect(stores.cache.set('k', 'v', { ttl: 60, about: [] })).rejects.toThrow('not written down')
  await stores.close()
})
