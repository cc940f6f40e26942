import { expect, it } from 'vitest'
import { memoryCache } from './memory.ts'
import { cacheSuite } from './suite/cache-suite.ts'

cacheSuite('memory', async () => {
  const store = memoryCache()
  return { store, close: () => store.close() }
})

const retained = { ttl: 3600, about: ['somebody'] }

it('memoryCache evicts the least recently used entries when it is full', async () => {
  const store = memoryCache({ entries: 3, bytes: 1_000_000 })
  for (const key of ['a', 'b', 'c']) await store.set(key, key, retained)
  await store.get('a')
  await store.set('d', 'd', retained)
  expect(await store.find({ patterns: ['*'], about: [] })).toEqual(['kp:cache:a', 'kp:cache:c', 'kp:cache:d'])
  expect(await store.find({ patterns: [], about: ['somebody'] })).toHaveLength(3)
})

it('memoryCache stays within its maximum of bytes and does not store a value larger than that', async () => {
  const store = memoryCache({ entries: 100, bytes: 2_000 })
  for (let n = 0; n < 20; n++) await store.set(`k${n}`, 'x'.repeat(200), retained)
  const left = await store.find({ patterns: ['*'], about: [] })
  expect(left.length).toBeGreaterThan(1)
  expect(left.length).toBeLessThan(5)
  expect(left).toContain('kp:cache:k19')
  await store.set('k19', 'x'.repeat(2_000), retained)
  expect(await store.get('k19')).toBeUndefined()
})
