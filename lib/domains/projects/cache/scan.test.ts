import { expect, it } from 'vitest'
import type { CacheEntry } from '#lib/stores/cache/cache.ts'
import { ownershipReader } from '../values/readable.ts'
import { type CacheFinding, type CacheSearch, scanCache } from './scan.ts'

const id = `msg_${'1'.repeat(22)}`
const entry = (name: string, value: string): CacheEntry => ({
  name,
  type: 'string',
  isWhole: true,
  parts: [{ id: Buffer.alloc(0), texts: [Buffer.from(value)] }],
})

it('scanCache reads the ids of a search once, however often an entry is judged again', async () => {
  let reads = 0
  class Ids extends Set<string> {
    override [Symbol.iterator]() {
      reads++
      return super[Symbol.iterator]()
    }
  }
  const search: CacheSearch = {
    ids: new Ids([id]),
    chosen: [],
    anchors: [],
    near: [],
    names: new Map([['app:1', { named: [], remaining: [] }]]),
    indexed: new Set(),
    around: new Set(),
    space: { prefixes: [], claimants: [], others: [] },
    wordDecider: undefined,
    ownershipOf: ownershipReader({
      within: async () => {
        throw new Error('a reported entry needs no owner')
      },
      projects: new Set(),
      erased: new Set(),
      isPerson: false,
    }),
    keys: [],
    isCached: async () => true,
  }
  const cache = {
    read: async (visit: (one: CacheEntry) => void | Promise<void>) => visit(entry('app:1', `Made from ${id}.`)),
  }
  const found: CacheFinding[] = []
  for (let n = 0; n < 3; n++) await scanCache(cache, search, async (finding) => void found.push(finding))
  expect(found.map(({ name, isByContent }) => [name, isByContent])).toEqual(Array(3).fill(['app:1', true]))
  expect(reads).toBe(1)
})
