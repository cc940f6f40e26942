import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { newId } from '#lib/kernel/ids.ts'
import { fileObjects } from '#lib/stores/objects/files.ts'
import { keyFolderMark, snapshotKeyObjects, snapshotKeys } from './key-files.ts'

const root = mkdtempSync(join(tmpdir(), 'kp-keys-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))
const folder = join(root, 'snapshot-keys')
let isElsewhere = false
const elsewhere = {
  id: 'store_x',
  port: 'snapshot_keys',
  provider: 'files',
  address: '',
  shown: 'file:/elsewhere',
  firstSeen: new Date(0),
  lastSeen: new Date(0),
}
const whatIsMissing = async () => (isElsewhere ? [elsewhere] : [])
const marks: (string | undefined)[] = []
const keys = snapshotKeys({ folder, used: async () => void marks.push(await keyFolderMark(folder)), whatIsMissing })
const bucket = fileObjects(join(root, 'bucket'))
let uses = 0
const inBucket = snapshotKeyObjects({ store: bucket, used: async () => void uses++, whatIsMissing })

describe.each([
  { where: 'a folder', keys },
  { where: 'a bucket', keys: inBucket },
])('keys in $where', ({ keys }) => {
  it('write replaces a key, read returns it, and destroy leaves nothing', async () => {
    const [one, other] = [newId('snap'), newId('snap')]
    expect(await keys.read(one)).toBeUndefined()
    expect(await keys.destroy([one])).toBe(0)
    for (const [id, enc] of [
      [one, 'a'],
      [one, 'b'],
      [other, 'c'],
    ] as const)
      await keys.write(id, { enc })
    expect([await keys.read(one), await keys.exists(one)]).toEqual([{ enc: 'b' }, true])
    expect((await keys.olderThan(new Date(Date.now() + 60_000))).sort()).toEqual([one, other].sort())
    expect(await keys.olderThan(new Date(Date.now() - 60_000))).toEqual([])
    expect(await keys.destroy([one, newId('snap')])).toBe(1)
    expect([await keys.read(one), await keys.exists(one), await keys.exists(other)]).toEqual([undefined, false, true])
    expect(await keys.destroy([one, other])).toBe(1)
  })

  it('rejects destroy, write and reads of missing keys while keys exist in another place, and still reads existing keys', async () => {
    const [here, other] = [newId('snap'), newId('snap')]
    await keys.write(here, { enc: 'a' })
    isElsewhere = true
    try {
      const refused = { code: 'unavailable' }
      await expect(keys.destroy([here])).rejects.toMatchObject(refused)
      await expect(keys.read(other)).rejects.toMatchObject(refused)
      await expect(keys.write(other, {})).rejects.toMatchObject(refused)
      await expect(keys.check()).rejects.toMatchObject(refused)
      expect(await keys.destroy([])).toBe(0)
      expect([await keys.read(here), await keys.exists(here), await keys.exists(other)]).toEqual([
        { enc: 'a' },
        true,
        false,
      ])
    } finally {
      isElsewhere = false
    }
    await keys.destroy([here])
  })

  it('rejects a name that leads out of its place', async () => {
    await expect(keys.read('../snap_0123456789abcdefghijkl')).rejects.toThrow('The snapshot id is not valid.')
  })
})

it('a bucket that can restore deleted objects stores no key', async () => {
  const soft = snapshotKeyObjects({
    store: { ...bucket, residueSeconds: async () => 604_800 },
    used: async () => {},
    whatIsMissing,
  })
  const id = newId('snap')
  await expect(soft.write(id, { enc: 'a' })).rejects.toMatchObject({ code: 'unavailable' })
  expect(await soft.exists(id)).toBe(false)
  expect(uses).toBeGreaterThan(0)
})

describe('snapshotKeys', () => {
  it('stores keys readable only by their owner, replaces them atomically and deletes them', async () => {
    const [one, other] = [newId('snap'), newId('snap')]
    expect(await keys.read(one)).toBeUndefined()
    expect(await keys.destroy([one])).toBe(0)
    await keys.write(one, { enc: 'a' })
    await keys.write(one, { enc: 'b' })
    await keys.write(other, { enc: 'c' })
    expect([statSync(folder).mode & 0o777, statSync(join(folder, one)).mode & 0o777]).toEqual([0o700, 0o600])
    expect([await keys.read(one), await keys.exists(one)]).toEqual([{ enc: 'b' }, true])
    writeFileSync(join(folder, `${one}.part`), 'a crash')
    expect(await keys.destroy([one, newId('snap')])).toBe(1)
    expect(readdirSync(folder).sort()).toEqual(['folder', other].sort())
    expect([...new Set(marks)]).toEqual([await keyFolderMark(folder)])
    expect(marks[0]).toMatch(/^[0-9a-f-]{36}$/)
    expect(await keys.destroy([one])).toBe(0)
  })

  it('olderThan returns old keys and unfinished keys, and ignores foreign files', async () => {
    const [old, begun, fresh] = [newId('snap'), newId('snap'), newId('snap')]
    for (const id of [old, fresh]) await keys.write(id, {})
    const others = [`${begun}.part`, 'notes.txt', 'snap_short']
    for (const name of others) writeFileSync(join(folder, name), '')
    for (const name of [old, ...others]) utimesSync(join(folder, name), 1_000, 1_000)
    expect((await keys.olderThan(new Date(2_000_000))).sort()).toEqual([old, begun].sort())
    expect(await keys.destroy([begun])).toBe(0)
    expect(existsSync(join(folder, `${begun}.part`))).toBe(false)
  })
})
