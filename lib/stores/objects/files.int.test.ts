import { chmod, mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { fileObjects, parseFileName, pathOfKey } from './files.ts'
import { objectsSuite } from './suite/objects-suite.ts'

objectsSuite('files', async () => {
  const root = await mkdtemp(join(tmpdir(), 'kp-objects-'))
  const broken = join(root, 'a-file')
  await writeFile(broken, 'where a folder should be')
  const store = fileObjects(join(root, 'objects'))
  return {
    store,
    keepsVersions: false,
    nests: true,
    async leaveUnfinished(key) {
      const { folders, name } = pathOfKey(key)
      const folder = join(root, 'objects', ...folders)
      await mkdir(folder, { recursive: true })
      await writeFile(join(folder, `${name}.0123456789abcdef.tmp`), 'half of')
    },
    async removeNewest(key) {
      await store.erase([key])
    },
    down: fileObjects(join(broken, 'objects')),
    secrets: [root],
    close: () => rm(root, { recursive: true }),
  }
})

async function* bytes(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text)
}

it('fileObjects stores files that only their owner can read, and removes empty folders except the root', async () => {
  const outer = await mkdtemp(join(tmpdir(), 'kp-objects-'))
  const root = join(outer, 'objects')
  const store = fileObjects(root)
  await store.put('projects/p/messages/m/a', bytes('x'), { mediaType: 'text/plain' })
  expect((await stat(root)).mode & 0o777).toBe(0o700)
  expect((await stat(join(root, 'projects/p/messages/m/a.o'))).mode & 0o777).toBe(0o600)
  await store.erase(['projects/p/messages/m/a'])
  expect(await readdir(root)).toEqual([])
  await rm(outer, { recursive: true })
})

it('erase removes all keys of a folder and the folder when two calls erase them concurrently', async () => {
  const outer = await mkdtemp(join(tmpdir(), 'kp-objects-'))
  const root = join(outer, 'objects')
  const store = fileObjects(root)
  const keys = Array.from({ length: 40 }, (_, n) => `projects/p/messages/m${n % 2}/a${n}`)
  for (const key of [...keys, 'projects/p/messages/other/a'])
    await store.put(key, bytes('x'), { mediaType: 'text/plain' })
  const counts = await Promise.all([store.erase([...keys, ...keys]), fileObjects(root).erase(keys)])
  expect(counts.reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(keys.length)
  expect(await store.list('', '', 100)).toEqual(['projects/p/messages/other/a'])
  expect(await readdir(join(root, 'projects/p/messages'))).toEqual(['other'])
  await store.put(keys[0] ?? '', bytes('y'), { mediaType: 'text/plain' })
  expect(await store.erase(keys)).toBe(1)
  await rm(outer, { recursive: true })
})

it('put loses no object when neighbours are erased and folders come and go', async () => {
  const root = await mkdtemp(join(tmpdir(), 'kp-objects-'))
  const store = fileObjects(root)
  const keys = Array.from({ length: 40 }, (_, n) => `one/two/${n}`)
  await Promise.all(
    keys.map(async (key, n) => {
      await store.put(key, bytes(key), { mediaType: 'text/plain' })
      if (n % 2 === 0) await store.erase([key])
    }),
  )
  expect((await store.list('', '', 100)).length).toBe(20)
  await rm(root, { recursive: true })
})

it('put rejects and stores nothing when the key is erased during the upload', async () => {
  const root = await mkdtemp(join(tmpdir(), 'kp-objects-'))
  const store = fileObjects(root)
  const overtaken = async function* (): AsyncGenerator<Uint8Array> {
    yield Buffer.from('first half')
    expect(await store.erase(['late'])).toBe(1)
    yield Buffer.from('second half')
  }
  await expect(store.put('late', overtaken(), { mediaType: 'text/plain' })).rejects.toMatchObject({ code: 'conflict' })
  expect(await store.versions('late')).toEqual([])
  await rm(root, { recursive: true })
})

it('state returns down when the folder is not writable', async ({ skip }) => {
  if (process.getuid?.() === 0) return skip('root may write everywhere')
  const root = await mkdtemp(join(tmpdir(), 'kp-objects-'))
  await chmod(root, 0o500)
  expect(await fileObjects(root).state()).toMatchObject({ state: 'down', detail: 'EACCES' })
  await rm(root, { recursive: true })
})

it.each(['a', '..', '.', 'a/b', 'ü', 'a.o', 'a+', '%2F', `${'ä'.repeat(200)}/x`])(
  'placeOfKey encodes the key %s so that the key adds no path segments',
  (key) => {
    const { folders, name } = pathOfKey(key)
    for (const one of [...folders, `${name}.o`]) {
      expect(one).toMatch(/^[A-Za-z0-9_%-]+(\.o|\+)?$/)
      expect(one.length).toBeLessThan(230)
      expect(parseFileName(one)).toBeDefined()
    }
  },
)
