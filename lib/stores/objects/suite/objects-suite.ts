import { createHash } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { isObjectKey } from '../keys.ts'
import type { ObjectStore } from '../objects.ts'

/** An object store with its server, for {@link objectsSuite}. */
export interface ObjectsBed {
  store: ObjectStore
  /** Whether its server retains former versions. */
  keepsVersions: boolean
  /** Whether one key may be the beginning of another: not on servers that store keys as files. */
  nests: boolean
  /** Leaves an unfinished upload under the key, like a process that was killed; undefined if the server removes those automatically. */
  leaveUnfinished: ((key: string) => Promise<void>) | undefined
  /** Removes the key as an application does: a server with versions retains the former ones. */
  removeNewest: (key: string) => Promise<void>
  /** A store whose server does not respond, opened with credentials that no message may contain. */
  down: ObjectStore
  secrets: string[]
  close(): Promise<void>
}

const text = { mediaType: 'text/plain' }
async function* saying(...pieces: (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) yield typeof piece === 'string' ? Buffer.from(piece) : piece
}
async function* failingAfter(bytes: number): AsyncGenerator<Uint8Array> {
  for (let sent = 0; sent < bytes; sent += 64 * 1024) yield Buffer.alloc(64 * 1024, 'x')
  throw new Error('the sender went away')
}
const unavailable = { name: 'Problem', code: 'unavailable' }

export function objectsSuite(name: string, open: () => Promise<ObjectsBed>): void {
  describe(`objects in ${name}`, () => {
    let bed: ObjectsBed
    let store: ObjectStore
    beforeAll(async () => {
      bed = await open()
      store = bed.store
    })
    afterAll(() => bed?.close())

    const read = async (key: string): Promise<string | undefined> => {
      const found = await store.get(key)
      return found && (await buffer(found)).toString()
    }
    const folder = () => newId('t')
    const under = (prefix: string) => store.list(prefix, '', 100)

    it('get returns the newest version, and undefined for a missing key', async () => {
      const key = `${folder()}/one`
      expect(await store.get(key)).toBeUndefined()
      expect(await store.versions(key)).toEqual([])
      await store.put(key, saying('first'), text)
      await store.put(key, saying('sec', 'ond'), text)
      expect(await read(key)).toBe('second')
      const versions = await store.versions(key)
      expect(versions).toHaveLength(bed.keepsVersions ? 2 : 1)
      expect(versions.map(({ bytes }) => bytes)).toEqual(bed.keepsVersions ? [6, 5] : [6])
      expect(new Set(versions.map(({ version }) => version)).size).toBe(versions.length)
      for (const { at } of versions) expect(Math.abs(at.getTime() - Date.now())).toBeLessThan(3_600_000)
      await store.erase([key])
    })

    it('put stores no bytes as an empty object', async () => {
      const key = `${folder()}/empty`
      await store.put(key, saying(), text)
      expect(await read(key)).toBe('')
      expect(await store.erase([key])).toBe(1)
      expect(await store.get(key)).toBeUndefined()
    })

    it('put and get stream an object of several parts, byte for byte', async () => {
      const key = `${folder()}/large`
      const sent = createHash('sha256')
      const size = 20 * 1024 * 1024 + 12_345
      await store.put(
        key,
        (async function* () {
          for (let left = size, n = 0; left > 0; n++) {
            const piece = Buffer.alloc(Math.min(left, 3_000_000), `${n}.`)
            left -= piece.length
            sent.update(piece)
            yield piece
          }
        })(),
        { mediaType: 'application/octet-stream' },
      )
      const found = await store.get(key)
      const given = createHash('sha256')
      let bytes = 0
      for await (const piece of found ?? []) {
        bytes += piece.length
        given.update(piece)
      }
      expect(bytes).toBe(size)
      expect(given.digest('hex')).toBe(sent.digest('hex'))
      expect((await store.versions(key)).map((one) => one.bytes)).toEqual([size])
      await store.erase([key])
    })

    it.each([0, 128 * 1024, 20 * 1024 * 1024])(
      'put leaves the previous object when the stream fails after %i bytes',
      async (bytes) => {
        const [fresh, known] = [`${folder()}/broken`, `${folder()}/known`]
        await store.put(known, saying('as it was'), text)
        for (const key of [fresh, known])
          await expect(store.put(key, failingAfter(bytes), text)).rejects.toThrow('the sender went away')
        expect(await store.versions(fresh)).toEqual([])
        expect(await read(known)).toBe('as it was')
        expect(await store.versions(known)).toHaveLength(1)
        await store.erase([known])
      },
    )

    it('concurrent puts store one of the objects completely', async () => {
      const key = `${folder()}/contended`
      const sizes = [10, 1_000, 100_000, 9 * 1024 * 1024]
      await Promise.all(sizes.map((size, n) => store.put(key, saying(Buffer.alloc(size, String(n))), text)))
      const found = (await read(key)) ?? ''
      expect(sizes).toContain(found.length)
      expect(found).toBe(String(sizes.indexOf(found.length)).repeat(found.length))
      expect(await store.erase([key])).toBe(1)
      expect(await store.versions(key)).toEqual([])
    })

    it('erase removes every version and delete marker, only of these keys', async () => {
      const [prefix, other] = [folder(), folder()]
      const [deleted, near, far] = [`${prefix}/a`, `${prefix}/a2`, `${other}/a`]
      for (const key of [deleted, near, far])
        for (const said of ['1', '2', '3']) await store.put(key, saying(said), text)
      const before = await Promise.all([near, far].map((key) => store.versions(key)))
      await bed.removeNewest(deleted)
      expect(await store.get(deleted)).toBeUndefined()
      expect(await under(prefix)).toEqual(bed.keepsVersions ? [deleted, near] : [near])
      await store.put(deleted, saying('4'), text)
      if (bed.keepsVersions) expect((await store.versions(deleted)).length).toBeGreaterThanOrEqual(4)
      expect(await store.erase([deleted, deleted, `${prefix}/never`])).toBe(1)
      expect(await store.versions(deleted)).toEqual([])
      expect(await store.erase([deleted])).toBe(0)
      expect(await Promise.all([near, far].map((key) => store.versions(key)))).toEqual(before)
      expect(await under(prefix)).toEqual([near])
      expect(await store.erase([near, far])).toBe(2)
    })

    it('erase removes a key that has only former versions', async ({ skip }) => {
      skip(!bed.keepsVersions)
      const key = `${folder()}/former`
      await store.put(key, saying('said once'), text)
      await bed.removeNewest(key)
      expect(await store.get(key)).toBeUndefined()
      expect(await store.versions(key)).not.toEqual([])
      expect(await store.erase([key])).toBe(1)
      expect(await store.versions(key)).toEqual([])
      expect(await under(key)).toEqual([])
    })

    it('versions and erase include the unfinished upload of a killed process', async ({ skip }) => {
      if (!bed.leaveUnfinished) return skip()
      const prefix = folder()
      const [key, whole] = [`${prefix}/left`, `${prefix}/whole`]
      await store.put(whole, saying('whole'), text)
      await bed.leaveUnfinished(key)
      await bed.leaveUnfinished(whole)
      expect(await store.get(key)).toBeUndefined()
      expect((await store.versions(key)).map(({ version }) => version)).toEqual([expect.stringMatching(/^upload:/)])
      expect(await store.versions(whole)).toHaveLength(2)
      expect(await under(prefix)).toEqual([key, whole])
      expect(await store.erase([key, whole])).toBe(2)
      expect(await under(prefix)).toEqual([])
      expect(await store.versions(key)).toEqual([])
    })

    it('erase removes many keys at once and counts those that had a version', async () => {
      const prefix = folder()
      const keys = Array.from({ length: 60 }, (_, n) => `${prefix}/${n % 7}/${n}`)
      for (const key of keys) await store.put(key, saying('x'), text)
      expect(await store.erase([...keys, `${prefix}/none`])).toBe(60)
      expect(await under(prefix)).toEqual([])
    })

    it('list returns keys by prefix in byte order, page by page', async () => {
      const prefix = folder()
      const nested = bed.nests ? ['a', 'a/b/c', 'aa/a/a'] : []
      const names = [...nested, 'a-b', 'a.b', 'a/b', 'a/c', 'aa', 'b/z', 'ä', '中/x', '😀', `a/${'long'.repeat(60)}`]
      const keys = names.map((name) => `${prefix}/${name}`)
      for (const key of keys) await store.put(key, saying('x'), text)
      await store.put(`${prefix}x`, saying('a neighbour'), text)
      const sorted = keys.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
      expect(await store.list(`${prefix}/`, '', 100)).toEqual(sorted)
      expect(await store.list(`${prefix}/a/`, '', 100)).toEqual(sorted.filter((key) => key.startsWith(`${prefix}/a/`)))
      expect(await store.list(`${prefix}/a`, '', 100)).toEqual(sorted.filter((key) => key.startsWith(`${prefix}/a`)))
      expect(await store.list(`${prefix}/`, '', 0)).toEqual([])
      const paged: string[] = []
      for (let after = ''; ; ) {
        const page = await store.list(`${prefix}/`, after, 5)
        expect(page.length).toBeLessThanOrEqual(5)
        paged.push(...page)
        const last = page.at(-1)
        if (last === undefined) break
        after = last
      }
      expect(paged).toEqual(sorted)
      expect(await store.erase([...keys, `${prefix}x`])).toBe(keys.length + 1)
    })

    it.each([
      'with spaces and + signs',
      'percent%20encoded%2Fslash%',
      'ünïcode/名前/😀',
      'quotes"\'<>&\\?#;=',
      'dots.in.it/.hidden/...',
      '-/_/~',
      'UPPER/upper',
      `long/${'0123456789abcdef'.repeat(14)}`,
      `${'deep/'.repeat(40)}end`,
    ])('put accepts the key %s', async (odd) => {
      const key = `${folder()}/${odd}`
      await store.put(key, saying(odd), text)
      expect(await read(key)).toBe(odd)
      expect(await store.versions(key)).toMatchObject([{ key, bytes: Buffer.byteLength(odd) }])
      expect(await store.list(key, '', 10)).toEqual([key])
      expect(await store.erase([key])).toBe(1)
      expect(await read(key)).toBeUndefined()
    })

    it.each([
      '',
      '/',
      '/a',
      'a/',
      'a//b',
      '.',
      '..',
      '../a',
      'a/../b',
      'a/./b',
      'a\u0000b',
      'a\nb',
      '\ud800',
      'é'.repeat(513),
    ])('put rejects the key %j, and get and erase find nothing under it', async (key) => {
      const near = `${folder()}/b`
      await store.put(near, saying('stays'), text)
      expect(isObjectKey(key)).toBe(false)
      await expect(store.put(key, saying('x'), text)).rejects.toMatchObject({ code: 'bad_request' })
      expect(await store.get(key)).toBeUndefined()
      expect(await store.versions(key)).toEqual([])
      expect(await store.erase([key, key.replace('a', near)])).toBe(0)
      expect(await read(near)).toBe('stays')
      await store.erase([near])
    })

    it('get ends the download when its reader stops', async () => {
      const key = `${folder()}/left`
      await store.put(key, saying(Buffer.alloc(4_000_000, 'x')), text)
      for await (const piece of (await store.get(key)) ?? []) {
        expect(piece.length).toBeGreaterThan(0)
        break
      }
      expect(await store.erase([key])).toBe(1)
    })

    it('state returns ok and the latency of a round trip', async () => {
      expect(await store.state()).toEqual({ state: 'ok', latency: expect.any(Number) })
      expect(await store.residueSeconds()).toBe(0)
    })

    it('every method rejects as unavailable without credentials, address or key when its server does not respond', async () => {
      const { down } = bed
      const key = 'projects/prj_secret/messages/msg_secret/att_secret'
      const work: (() => Promise<unknown>)[] = [
        () => down.put(key, saying('x'), text),
        () => down.get(key),
        () => down.versions(key),
        () => down.erase([key]),
        () => down.list('projects/', '', 10),
      ]
      for (const ask of work) {
        const error: unknown = await ask().then(
          () => undefined,
          (fault: unknown) => fault,
        )
        expect(error).toMatchObject(unavailable)
        const all = `${error instanceof Error ? `${error.message} ${error.stack} ${JSON.stringify(error)}` : ''}`
        for (const secret of [...bed.secrets, 'prj_secret', 'att_secret']) expect(all).not.toContain(secret)
        expect(Problem.is(error) && error.cause).toBeFalsy()
      }
      const state = await down.state()
      expect(state.state).toBe('down')
      for (const secret of bed.secrets) expect(JSON.stringify(state)).not.toContain(secret)
    })
  })
}
