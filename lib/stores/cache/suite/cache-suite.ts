import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { newId } from '#lib/kernel/ids.ts'
import { type CacheStore, ownPrefix } from '../cache.ts'
import { literally } from '../search-strings.ts'

export interface CacheBed {
  store: CacheStore
  close(): Promise<void>
}

export function cacheSuite(name: string, open: () => Promise<CacheBed>): void {
  describe(`the cache in ${name}`, () => {
    let bed: CacheBed
    let store: CacheStore
    beforeAll(async () => {
      bed = await open()
      store = bed.store
    })
    afterAll(() => bed?.close())

    const own = (key: string) => ownPrefix + key
    const hour = 3600
    const nothing = { patterns: [], about: [] }

    it('get returns the last value set, and undefined for a missing key', async () => {
      const key = newId('key')
      expect(await store.get(key)).toBeUndefined()
      for (const value of ['first', '', '{"said":"ünïcode 😀"}']) {
        await store.set(key, value, { ttl: hour, about: [] })
        expect(await store.get(key)).toBe(value)
      }
      expect(await store.drop([own(key), own(key), own('never')])).toBe(1)
      expect(await store.get(key)).toBeUndefined()
    })

    it('get and find return nothing after an entry expired', async () => {
      const [key, id] = [newId('key'), newId('msg')]
      await store.set(key, 'soon gone', { ttl: 1, about: [id] })
      expect(await store.find({ patterns: [], about: [id] })).toEqual([own(key)])
      await vi.waitUntil(async () => (await store.get(key)) === undefined, { timeout: 10_000, interval: 50 })
      expect(await store.find({ patterns: [`*${key}*`], about: [id] })).toEqual([])
      expect(await store.search([key, id])).toEqual([])
    })

    it.each([0, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY])('set rejects a TTL of %d seconds', async (ttl) => {
      await expect(store.set('refused', 'x', { ttl, about: [] })).rejects.toThrow(RangeError)
      expect(await store.get('refused')).toBeUndefined()
    })

    it('find returns entries by every id they are about, whatever their key', async () => {
      const [one, two, three] = [newId('msg'), newId('conv'), newId('prj')]
      await store.set('opaque-1', 'x', { ttl: hour, about: [one, two] })
      await store.set('opaque-2', 'x', { ttl: hour, about: [two, three, two] })
      await store.set('opaque-3', 'x', { ttl: hour, about: [] })
      expect(await store.find({ patterns: [], about: [one] })).toEqual([own('opaque-1')])
      expect(await store.find({ patterns: [], about: [one, three] })).toEqual([own('opaque-1'), own('opaque-2')])
      expect(await store.find({ patterns: [], about: [newId('msg')] })).toEqual([])
      expect(await store.find(nothing)).toEqual([])
      // Setting an entry again replaces the ids that it is about.
      await store.set('opaque-1', 'y', { ttl: hour, about: [three] })
      expect(await store.find({ patterns: [], about: [one] })).toEqual([])
      expect(await store.find({ patterns: [], about: [two] })).toEqual([own('opaque-2')])
      expect(await store.drop([own('opaque-1'), own('opaque-2'), own('opaque-3')])).toBe(3)
      expect(await store.find({ patterns: [], about: [one, two, three] })).toEqual([])
    })

    it('set keeps an index as long as its longest entry', async () => {
      const id = newId('msg')
      await store.set('long', 'x', { ttl: hour, about: [id] })
      await store.set('short', 'x', { ttl: 1, about: [id] })
      await vi.waitUntil(async () => (await store.get('short')) === undefined, { timeout: 10_000, interval: 50 })
      expect(await store.find({ patterns: [], about: [id] })).toEqual([own('long')])
      await store.drop([own('long')])
    })

    it('dropUnchanged deletes an entry and its index only while it has the content of the hash', async () => {
      const [key, id] = [newId('key'), newId('msg')]
      expect(await store.contentHash(own(key))).toBeUndefined()
      await store.set(key, 'first', { ttl: hour, about: [id] })
      const hash = (await store.contentHash(own(key))) ?? ''
      expect(await store.contentHash(own(key))).toBe(hash)
      await store.set(key, 'second', { ttl: hour, about: [id] })
      expect(await store.dropUnchanged(own(key), hash)).toBe(false)
      expect(await store.get(key)).toBe('second')
      await store.set(key, 'first', { ttl: hour, about: [id] })
      expect(await store.dropUnchanged(own(key), hash)).toBe(true)
      expect(await store.dropUnchanged(own(key), hash)).toBe(false)
      expect(await store.find({ patterns: [], about: [id] })).toEqual([])
    })

    it('forget deletes an index and keeps the entries', async () => {
      const [id, key] = [newId('msg'), newId('key')]
      await store.set(key, 'x', { ttl: hour, about: [id] })
      await store.forget([id, newId('msg')])
      await store.forget([])
      expect(await store.find({ patterns: [], about: [id] })).toEqual([])
      expect(await store.get(key)).toBe('x')
      await store.drop([own(key)])
    })

    it.each([
      ['*', ['q:abc:1', 'q:abcd:2', 'q:*:3', 'q:[a]:4', 'q:a\\b:5', 'q:ü:6']],
      [own('q:abc:1'), ['q:abc:1']],
      ['*abc*', ['q:abc:1', 'q:abcd:2']],
      ['*abc:?', ['q:abc:1']],
      ['*q:?:*', ['q:*:3', 'q:ü:6']],
      ['abc', []],
      [`*${literally('*')}*`, ['q:*:3']],
      [`*${literally('[a]')}*`, ['q:[a]:4']],
      ['*[a]*', ['q:[a]:4']],
      [`*${literally('a\\b')}*`, ['q:a\\b:5']],
      [`*${literally('?')}*`, []],
      ['**abc***:1', ['q:abc:1']],
      ['', []],
    ])('find returns entries that match the pattern %j', async (pattern, expected) => {
      const keys = ['q:abc:1', 'q:abcd:2', 'q:*:3', 'q:[a]:4', 'q:a\\b:5', 'q:ü:6']
      for (const key of keys) await store.set(key, 'x', { ttl: hour, about: ['somebody'] })
      const found = await store.find({ patterns: [pattern], about: [] })
      expect(found).toEqual(expected.map(own).sort())
      // The same result with many patterns.
      const many = [pattern, ...Array.from({ length: 20 }, (_, n) => `none-${n}-*`)]
      expect(await store.find({ patterns: many, about: [] })).toEqual(expected.map(own).sort())
      expect(await store.drop(keys.map(own))).toBe(keys.length)
    })

    it('names returns each wanted entry once and passes only entries to isWanted', async () => {
      const id = newId('msg')
      const keys = [`n:${id}`, `n:${id}:ü *`]
      for (const key of keys) await store.set(key, 'x', { ttl: hour, about: [id] })
      const asked: string[] = []
      const isWanted = (name: string) => asked.push(name) > 0 && name.includes(id)
      expect(await store.names(isWanted)).toEqual(keys.map(own))
      expect(asked.filter((name) => !name.startsWith(ownPrefix))).toEqual([])
      expect(await store.drop(keys.map(own))).toBe(2)
      expect(await store.names(isWanted)).toEqual([])
    })

    it('find matches many patterns and ids at once', async () => {
      const ids = Array.from({ length: 500 }, () => newId('msg'))
      for (const [n, id] of ids.entries())
        await store.set(n % 2 === 0 ? `answer:${id}` : `answer:${n}`, 'x', {
          ttl: hour,
          about: n % 2 === 0 ? [] : [id],
        })
      const other = newId('msg')
      await store.set(`answer:${other}`, 'x', { ttl: hour, about: [other] })
      const found = await store.find({ patterns: ids.map((id) => `*${id}*`), about: ids })
      expect(found).toHaveLength(500)
      expect(found).not.toContain(own(`answer:${other}`))
      expect(await store.drop(found)).toBe(500)
      expect(await store.drop([own(`answer:${other}`)])).toBe(1)
    })

    it('search finds strings in names, values and ids, whatever surrounds them', async () => {
      const id = newId('msg')
      const entries: Record<string, [string, string[]]> = {
        [`name-of-${id}x`]: ['nothing', []],
        value: [JSON.stringify({ messages: [{ id, content: 'Testa Person said ü' }] }), []],
        about: ['nothing', [id]],
        innocent: [newId('msg'), [newId('msg')]],
        long: [`${'x'.repeat(1024 * 1024 - 9)}${id}`, []],
        longer: [`${'x'.repeat(3 * 1024 * 1024 - 9)}${id}${'x'.repeat(500)}`, []],
      }
      for (const [key, [value, about]] of Object.entries(entries)) await store.set(key, value, { ttl: hour, about })
      const hits = [`name-of-${id}x`, 'value', 'about', 'long', 'longer']
      const many = Array.from({ length: 40 }, () => newId('msg'))
      for (const searchStrings of [[id], [...many, id], [id, 'zz']]) {
        const found = (await store.search(searchStrings)).filter((name) => name.startsWith(ownPrefix))
        expect(found).toEqual(hits.map(own).sort())
      }
      expect(await store.search(['Testa Person said ü'])).toEqual([own('value')])
      expect(await store.search([])).toEqual([])
      expect(await store.search([''])).toEqual([])
      await store.drop(Object.keys(entries).map(own))
      expect(await store.search([id, 'Testa Person said ü'])).toEqual([])
    })

    it.each([1, 40])('search matches a short string only as a separate word (%i strings)', async (count) => {
      const values = { alone: 'of deal-1, no more', longer: 'of deal-10', other: 'of ideal-1', json: '["deal-1"]' }
      for (const [key, value] of Object.entries(values)) await store.set(key, value, { ttl: hour, about: [] })
      const padding = Array.from({ length: count - 1 }, () => newId('msg'))
      expect(await store.search(['deal-1', ...padding])).toEqual([own('alone'), own('json')])
      await store.drop(Object.keys(values).map(own))
    })

    it('concurrent sets and drops keep every index correct', async () => {
      const id = newId('prj')
      const keys = Array.from({ length: 100 }, (_, n) => `busy-${n}`)
      await Promise.all(
        keys.map(async (key, n) => {
          await store.set(key, 'x', { ttl: hour, about: [id] })
          if (n % 3 === 0) await store.drop([own(key)])
        }),
      )
      const left = keys.filter((_, n) => n % 3 !== 0).map(own)
      expect(await store.find({ patterns: [], about: [id] })).toEqual(left.sort())
      expect(await store.drop(left)).toBe(left.length)
      expect(await store.search([id])).toEqual([])
    })

    it('state returns ok', async () => {
      expect(await store.state()).toEqual({ state: 'ok', latency: expect.any(Number) })
    })
  })
}
