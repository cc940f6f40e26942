import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { newId } from '#lib/kernel/ids.ts'
import { snapshotKeys } from './key-files.ts'

const root = mkdtempSync(join(tmpdir(), 'kp-keys-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))
const folder = join(root, 'snapshot-keys')
const keys = snapshotKeys(folder)

describe('wrapped keys in their folder', () => {
  it('are their owner’s alone, replaced whole, and gone when they are destroyed', async () => {
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
    expect(readdirSync(folder)).toEqual([other])
    expect(await keys.destroy([one])).toBe(0)
  })

  it('tell which are old, beginnings too, and nothing of what is not ours', async () => {
    const [old, begun, fresh] = [newId('snap'), newId('snap'), newId('snap')]
    for (const id of [old, fresh]) await keys.write(id, {})
    const others = [`${begun}.part`, 'notes.txt', 'snap_short']
    for (const name of others) writeFileSync(join(folder, name), '')
    for (const name of [old, ...others]) utimesSync(join(folder, name), 1_000, 1_000)
    expect((await keys.olderThan(new Date(2_000_000))).sort()).toEqual([old, begun].sort())
    expect(await keys.destroy([begun])).toBe(0)
    expect(existsSync(join(folder, `${begun}.part`))).toBe(false)
  })

  it('take no name that leads elsewhere', async () => {
    await expect(keys.read('../snap_0123456789abcdefghijkl')).rejects.toThrow('no id of a snapshot')
  })
})
