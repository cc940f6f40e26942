import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { sealLedger } from '#lib/platform/ledger-settling.ts'
import { type LedgerRow, fileLedger as openLedger } from './ledger.ts'
import { ledgerKeyOf } from './ledger-head.ts'
import { ledgerFolder, moveFormerLedger } from './ledger-place.ts'

const secret = 'a secret of thirty-two characters'
const fileLedger = (location: string) => openLedger(location, { secret: () => secret })
let folder: string
/** The name of the first month's file. */
const ledgerFile = (of = folder): string => readdirSync(of).find((name) => name.endsWith('.ledger')) ?? ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kp-ledger-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const intent = (id: string): LedgerRow => ({
  kind: 'intent',
  id,
  at: '2026-03-01T00:00:00.000Z',
  scope: { unit: `kp:trace:${id}` },
  plan: { 'knowledge.units': [`kp:trace:${id}`] },
})
const all = async (location: string): Promise<LedgerRow[]> => Array.fromAsync(fileLedger(location).read())

it('read returns appended rows in order, also in a process that opens the ledger later', async () => {
  const ledger = fileLedger(join(folder, 'deep', 'er'))
  await ledger.append(intent('a'))
  await ledger.append({ kind: 'commit', id: 'a', at: '2026-03-01T00:00:01.000Z' })
  await ledger.close()
  const again = fileLedger(join(folder, 'deep', 'er'))
  await again.append(intent('b'))
  await again.close()
  expect((await all(join(folder, 'deep', 'er'))).map(({ kind, id }) => [kind, id])).toEqual([
    ['intent', 'a'],
    ['commit', 'a'],
    ['intent', 'b'],
  ])
})

it('append stores every row when several writers append many rows concurrently', async () => {
  const writers = [fileLedger(folder), fileLedger(folder), fileLedger(`file://${folder}`)]
  await Promise.all(Array.from({ length: 300 }, (_, i) => writers[i % 3]?.append(intent(`r${i}`))))
  await Promise.all(writers.map((writer) => writer.close()))
  expect(new Set((await all(folder)).map(({ id }) => id)).size).toBe(300)
})

it('append writes to the configured path after its folder was moved away', async () => {
  const place = join(folder, 'ledger')
  const ledger = fileLedger(place)
  const items = (id: string) => ({ kind: 'items' as const, id, holder: 'h', items: [`${id}1`] })
  for (const row of [intent('a'), items('a')]) await ledger.append(row)
  renameSync(place, join(folder, 'moved'))
  for (const row of [intent('b'), items('b')]) await ledger.append(row)
  await ledger.close()
  expect(await all(place)).toEqual([intent('b'), items('b')])
  expect(await all(join(folder, 'moved'))).toEqual([intent('a'), items('a')])
})

it('read omits only lines that a crash truncated or somebody edited', async () => {
  const ledger = fileLedger(folder)
  for (const id of ['a', 'b', 'c']) await ledger.append(intent(id))
  await ledger.close()
  const name = ledgerFile()
  const file = join(folder, name)
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean)
  writeFileSync(file, [lines[0], lines[1]?.replace('kp:trace:b', 'kp:trace:x'), lines[2]].join('\n'))
  appendFileSync(file, '\n0123456789abcdef {"kind":"intent","id":"torn')
  const after = fileLedger(folder)
  await after.append(intent('d'))
  await after.close()
  const problems: string[] = []
  const rows = await Array.fromAsync(fileLedger(folder).read((_, kind) => problems.push(kind)))
  expect(rows.map(({ id }) => id)).toEqual(['a', 'c', 'd'])
  expect(problems.sort()).toEqual(['altered', 'damaged', 'damaged'])
})

it('append creates files that only their owner can read', async () => {
  const ledger = fileLedger(join(folder, 'ledger'))
  await ledger.append(intent('a'))
  await ledger.close()
  expect(statSync(join(folder, 'ledger')).mode & 0o777).toBe(0o700)
  const name = ledgerFile(join(folder, 'ledger'))
  expect(statSync(join(folder, 'ledger', name)).mode & 0o777).toBe(0o600)
})

it('append rejects when the row cannot be stored', async () => {
  writeFileSync(join(folder, 'file'), '')
  await expect(fileLedger(join(folder, 'file', 'below')).append(intent('a'))).rejects.toThrow()
})

it('append stores a row after another writer’s partial line, and read reports that line', async () => {
  const ledger = fileLedger(folder)
  await ledger.append(intent('one'))
  const name = ledgerFile()
  appendFileSync(join(folder, name), '0123456789abcdef {"kind":"int')
  await ledger.append(intent('two'))
  await ledger.close()
  const damaged: string[] = []
  const rows = await Array.fromAsync(fileLedger(folder).read((file) => damaged.push(file)))
  expect([rows.map(({ id }) => id), damaged]).toEqual([['one', 'two'], [name]])
})

it('read rejects when the folder cannot be read, and returns nothing for a missing folder', async () => {
  writeFileSync(join(folder, 'file'), '')
  await expect(Array.fromAsync(fileLedger(join(folder, 'file')).read())).rejects.toThrow()
  expect(await all(join(folder, 'absent'))).toEqual([])
})

it('prune removes whole months when their retention ends', async () => {
  writeFileSync(join(folder, '2019-02.ledger'), '')
  await sealLedger(folder, ledgerKeyOf(secret))
  const ledger = fileLedger(folder)
  await ledger.append(intent('a'))
  expect(await ledger.prune(new Date('2019-03-01T00:00:00Z'))).toBe(1)
  await ledger.close()
  expect(readdirSync(folder).sort()).toEqual([`${new Date().toISOString().slice(0, 7)}.ledger`, 'ledger.head'])
})

it('append stores rows of many writers in one write each, however large they are', async () => {
  const items = Array.from({ length: 1_000 }, (_, n) => `kp:trace:${String(n).padStart(180, '0')}`)
  const writers = [fileLedger(folder), fileLedger(folder), fileLedger(folder)]
  await Promise.all(
    Array.from({ length: 60 }, (_, n) =>
      writers[n % 3]?.append({ kind: 'items', id: `run${n}`, holder: 'notes', items }),
    ),
  )
  await Promise.all(writers.map((writer) => writer.close()))
  const damaged: string[] = []
  const rows = await Array.fromAsync(fileLedger(folder).read((file) => damaged.push(file)))
  expect([new Set(rows.map(({ id }) => id)).size, damaged]).toEqual([60, []])
  for (const row of rows) expect(row).toMatchObject({ kind: 'items', items })
})

it('read returns lines one by one, so that a reader that stops reads no further', async () => {
  const ledger = fileLedger(folder)
  for (let n = 0; n < 5; n++) await ledger.append(intent(`r${n}`))
  await ledger.close()
  const name = ledgerFile()
  // A month that is longer than one read.
  appendFileSync(join(folder, name), `${'x'.repeat(1_000)}\n`.repeat(5_000))
  const read = fileLedger(folder).read()[Symbol.asyncIterator]()
  const first = await read.next()
  await read.return?.(undefined)
  expect(first.value).toMatchObject({ id: 'r0' })
  const damaged: string[] = []
  expect(await Array.fromAsync(fileLedger(folder).read((file) => damaged.push(file)))).toHaveLength(5)
  expect(damaged).toHaveLength(5_000)
})

const names: LedgerRow = {
  kind: 'items',
  id: 'r1',
  holder: 'cache.entries',
  items: ['key:answer:Where does Jane Placeholder live?'],
  identities: { msg_1: true },
}
/** All files in the folder as Latin-1 text. */
const text = () =>
  readdirSync(folder)
    .map((name) => readFileSync(join(folder, name), 'latin1'))
    .join('\n')

it('append seals items, and a reader with the keys returns them', async () => {
  const ledger = fileLedger(folder)
  await ledger.append(intent('r1'))
  await ledger.append(names)
  await ledger.close()
  expect(text()).toContain('cache.entries')
  expect(text()).not.toContain('Placeholder')
  expect(await all(folder)).toEqual([intent('r1'), names])
  const [key = ''] = readdirSync(folder).filter((name) => name.endsWith('.key'))
  expect(statSync(join(folder, key)).mode & 0o777).toBe(0o600)
})

it('forgetItems destroys only the keys of months that ended, including those in memory', async () => {
  const ledger = fileLedger(folder)
  await ledger.append(names)
  expect(await ledger.forgetItems(new Date())).toBe(0)
  expect(await all(folder)).toEqual([names])
  const nextMonth = new Date(Date.now() + 32 * 86_400_000)
  expect(await ledger.forgetItems(nextMonth)).toBe(1)
  expect(readdirSync(folder).filter((name) => name.endsWith('.key'))).toEqual([])
  expect(await all(folder)).toEqual([{ ...names, items: [] }])
  // The ledger that had the key in memory.
  expect(await Array.fromAsync(ledger.read())).toEqual([{ ...names, items: [] }])
  await ledger.close()
})

it('read returns unsealed items of former versions, and reports items that the key does not open as damaged', async () => {
  const row = JSON.stringify(names)
  const sum = createHash('sha256').update(row).digest('hex').slice(0, 16)
  writeFileSync(join(folder, '2026-01.ledger'), `${sum} ${row}\n`)
  await sealLedger(folder, ledgerKeyOf(secret))
  const ledger = fileLedger(folder)
  await ledger.append({ ...names, id: 'r2' })
  await ledger.close()
  const [key = ''] = readdirSync(folder).filter((name) => name.endsWith('.key'))
  writeFileSync(join(folder, key), Buffer.alloc(32))
  const damaged: string[] = []
  const rows = await Array.fromAsync(fileLedger(folder).read((file) => damaged.push(file)))
  expect([rows, damaged.length]).toEqual([[names], 1])
  // A key that exists but cannot be read is not a forgotten one.
  rmSync(join(folder, key))
  mkdirSync(join(folder, key))
  await expect(all(folder)).rejects.toThrow()
})

/** The bytes of the files in a folder by name; empty if there is no such folder. */
const bytesIn = (place: string): Record<string, string> =>
  existsSync(place)
    ? Object.fromEntries(readdirSync(place).map((name) => [name, readFileSync(join(place, name), 'base64')]))
    : {}

/** The number of files in a folder that another process may remove meanwhile; undefined if it does not exist. */
function filesIn(place: string): number | undefined {
  try {
    return readdirSync(place).length
  } catch {
    return undefined
  }
}

it('moveFormerLedger loses no row when its process is killed at every stage, and finishes at the next call', async () => {
  const home = mkdtempSync(join(tmpdir(), 'kp-moved-'))
  try {
    const settings = { KP_DATA_DIR: join(home, 'var'), HOME: home }
    const former = join(settings.KP_DATA_DIR, 'erasures')
    mkdirSync(former, { recursive: true })
    for (let month = 0; month < 400; month++)
      writeFileSync(join(former, `${2000 + Math.floor(month / 12)}-${(month % 12) + 1}.ledger`), randomBytes(4_000))
    const before = bytesIn(former)
    const target = ledgerFolder(settings)
    const draft = `${target}.moving`
    const module = pathToFileURL(resolve('lib/stores/ledger/ledger-place.ts')).href
    const script = `const { moveFormerLedger } = await import(${JSON.stringify(module)}); await moveFormerLedger(${JSON.stringify(settings)})`
    const stages = [
      () => existsSync(draft),
      () => (filesIn(draft) ?? 0) > 200,
      () => existsSync(target),
      () => existsSync(join(settings.KP_DATA_DIR, 'erasures.moved')),
      () => (filesIn(former) ?? 400) < 400,
    ]
    for (const isReached of stages) {
      const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'ignore' })
      const ended = once(child, 'exit')
      while (child.exitCode === null && !isReached()) await nextTurn()
      child.kill('SIGKILL')
      await ended
      // Every row is in one of the two places, and a place that a start would use is complete.
      if (existsSync(target)) expect(bytesIn(target)).toEqual(before)
      else expect(bytesIn(former)).toEqual(before)
    }
    await moveFormerLedger(settings)
    expect(bytesIn(target)).toEqual(before)
    expect([existsSync(former), existsSync(draft)]).toEqual([false, false])
  } finally {
    rmSync(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
  }
}, 60_000)
