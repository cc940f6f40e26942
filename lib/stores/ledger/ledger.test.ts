import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { fileLedger, type LedgerRow } from './ledger.ts'

let folder: string
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

it('gives back what was appended, in order, also to a process that opens it later', async () => {
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

it('keeps every row of many that are appended at once, by several writers', async () => {
  const writers = [fileLedger(folder), fileLedger(folder), fileLedger(`file://${folder}`)]
  await Promise.all(Array.from({ length: 300 }, (_, i) => writers[i % 3]?.append(intent(`r${i}`))))
  await Promise.all(writers.map((writer) => writer.close()))
  expect(new Set((await all(folder)).map(({ id }) => id)).size).toBe(300)
})

it('leaves out a line that a crash cut short or a hand changed, and nothing else', async () => {
  const ledger = fileLedger(folder)
  for (const id of ['a', 'b', 'c']) await ledger.append(intent(id))
  await ledger.close()
  const [name = ''] = readdirSync(folder)
  const file = join(folder, name)
  const lines = readFileSync(file, 'utf8').split('\n')
  writeFileSync(file, [lines[0], lines[1]?.replace('kp:trace:b', 'kp:trace:x'), lines[2]].join('\n'))
  appendFileSync(file, '\n0123456789abcdef {"kind":"intent","id":"torn')
  const after = fileLedger(folder)
  await after.append(intent('d'))
  await after.close()
  expect((await all(folder)).map(({ id }) => id)).toEqual(['a', 'c', 'd'])
})

it('is readable by its owner alone', async () => {
  const ledger = fileLedger(join(folder, 'ledger'))
  await ledger.append(intent('a'))
  await ledger.close()
  expect(statSync(join(folder, 'ledger')).mode & 0o777).toBe(0o700)
  const [name = ''] = readdirSync(join(folder, 'ledger'))
  expect(statSync(join(folder, 'ledger', name)).mode & 0o777).toBe(0o600)
})

it('refuses to say that a row is kept when it cannot be', async () => {
  writeFileSync(join(folder, 'file'), '')
  await expect(fileLedger(join(folder, 'file', 'below')).append(intent('a'))).rejects.toThrow()
})
