import { createHash, randomBytes } from 'node:crypto'
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { endFormerKeys, sealLedger } from '#lib/platform/ledger-settling.ts'
import { sampledRuns, sampleSeed } from '#lib/testing/sampling.ts'
import { fileLedger, type LedgerRow } from './ledger.ts'
import { adoptKeys, ledgerKeyOf } from './ledger-head.ts'
import { isAlteration, ledgerFiles } from './ledger-scan.ts'

let root: string
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'kp-forgery-'))
  vi.useFakeTimers({ toFake: ['Date'] })
})
afterAll(() => {
  vi.useRealTimers()
  rmSync(root, { recursive: true, force: true })
})

const checked = (row: string): string => `${createHash('sha256').update(row).digest('hex').slice(0, 16)} ${row}`
const intent = (id: string): LedgerRow => ({
  kind: 'intent',
  id,
  at: '2026-03-01T00:00:00.000Z',
  heldBy: [],
  hashes: [],
  scope: { subject: { account: null, agents: [id] } },
})
const items = (id: string): LedgerRow => ({ kind: 'items', id, holder: 'notes', items: [`${id} 1`, `${id} 2`] })
const commit = (id: string): LedgerRow => ({ kind: 'commit', id, at: '2026-03-01T00:00:00.000Z', erased: { notes: 2 } })

/** What may happen to a ledger of an honest installation. */
const Step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ does: fc.constant('erase' as const), writers: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 2, arbitrary: fc.constant({ does: 'restart' as const }) },
  { weight: 1, arbitrary: fc.constant({ does: 'month' as const }) },
  { weight: 1, arbitrary: fc.constant({ does: 'rotate' as const }) },
  { weight: 1, arbitrary: fc.constant({ does: 'crash' as const }) },
  { weight: 1, arbitrary: fc.constant({ does: 'move' as const }) },
  { weight: 1, arbitrary: fc.constant({ does: 'prune' as const }) },
)
const History = fc.record({
  hasOldRows: fc.boolean(),
  steps: fc.array(Step, { minLength: 3, maxLength: 12 }),
})
type History = typeof History extends fc.Arbitrary<infer T> ? T : never

/** Performs a history. Returns the ledger's folder, its mark and its secret. */
async function perform({ hasOldRows, steps }: History) {
  const place = mkdtempSync(join(root, 'one-'))
  let folder = join(place, 'ledger')
  const mark = join(place, 'mark')
  let secret = randomBytes(24).toString('base64url')
  vi.setSystemTime(new Date('2026-01-15T00:00:00Z'))
  mkdirSync(folder)
  if (hasOldRows)
    for (const file of ['2025-11', '2026-01'])
      writeFileSync(
        join(folder, `${file}.ledger`),
        [intent(`old${file}`), commit(`old${file}`)].map((row) => `\n${checked(JSON.stringify(row))}\n`).join(''),
      )
  await sealLedger(folder, ledgerKeyOf(secret))
  const open = () => {
    const now = secret
    return fileLedger(folder, { secret: () => now, mark })
  }
  let writers = [open(), open(), open()]
  const reopen = async () => {
    await Promise.all(writers.map((writer) => writer.close()))
    writers = [open(), open(), open()]
  }
  let n = 0
  for (const step of [...steps, { does: 'erase' as const, writers: 1 }, { does: 'erase' as const, writers: 1 }]) {
    if (step.does === 'erase')
      await Promise.all(
        writers.slice(0, step.writers).map(async (writer) => {
          const id = `r${n++}`
          await writer.append(intent(id))
          await Promise.all([writer.append(items(id)), writer.append(items(id))])
          await writer.append(commit(id))
        }),
      )
    if (step.does === 'restart') await reopen()
    if (step.does === 'month') vi.setSystemTime(new Date(Date.now() + 32 * 86_400_000))
    if (step.does === 'crash') {
      const [last] = (await ledgerFiles(folder)).slice(-1)
      if (last !== undefined) appendFileSync(join(folder, last), '0123456789abcdef {"kind":"int')
    }
    if (step.does === 'rotate') {
      const next = randomBytes(24).toString('base64url')
      await Promise.all(writers.map((writer) => writer.close()))
      await adoptKeys(folder, secret, next)
      secret = next
      await endFormerKeys(folder, ledgerKeyOf(secret))
      await reopen()
    }
    if (step.does === 'move') {
      await Promise.all(writers.map((writer) => writer.close()))
      const target = join(place, `moved${n++}`)
      cpSync(folder, target, { recursive: true })
      folder = target
      await reopen()
    }
    if (step.does === 'prune') await writers[0]?.prune(new Date(Date.now() - 40 * 86_400_000))
  }
  await Promise.all(writers.map((writer) => writer.close()))
  return { place, folder, mark, secret }
}
type Made = Awaited<ReturnType<typeof perform>>

/** Every row that a reader acts on, as text. */
const rowsOf = async ({ folder, secret }: Made): Promise<string[]> =>
  (await Array.fromAsync(fileLedger(folder, { secret: () => secret }).read())).map((row) => JSON.stringify(row))
/** The rows without one occurrence of each honest row: those that nobody wrote, and second occurrences. */
function inventedIn(rows: readonly string[], honest: readonly string[]): string[] {
  const left = new Map<string, number>()
  for (const row of honest) left.set(row, (left.get(row) ?? 0) + 1)
  return rows.filter((row) => {
    const count = left.get(row) ?? 0
    left.set(row, count - 1)
    return count <= 0
  })
}
const inspect = ({ folder, secret, mark }: Made) => fileLedger(folder, { secret: () => secret, mark }).inspect()

test('inspect reports nothing about honest histories with restarts, crashes, months, moves and rotations', async () => {
  await fc.assert(
    fc.asyncProperty(History, async (history) => {
      const made = await perform(history)
      const { problems, mark } = await inspect(made)
      expect([problems.filter(isAlteration), mark]).toEqual([[], 'contained'])
      rmSync(made.place, { recursive: true })
    }),
    { seed: sampleSeed, numRuns: sampledRuns('honest ledgers', 2_000, 40), endOnFailure: true },
  )
}, 900_000)

const Attack = fc.record({
  kind: fc.constantFrom(
    'forge',
    'edit',
    'remove',
    'truncate',
    'drop',
    'reorder',
    'replay',
    'head',
    'installation',
    'block',
    'file',
  ),
  /** Positions, as shares of what there is. */
  file: fc.double({ min: 0, max: 0.999, noNaN: true }),
  at: fc.double({ min: 0, max: 0.999, noNaN: true }),
  to: fc.double({ min: 0, max: 0.999, noNaN: true }),
  knowsFormat: fc.boolean(),
})
type Attack = typeof Attack extends fc.Arbitrary<infer T> ? T : never
const pick = <T>(list: readonly T[], share: number): number => Math.floor(share * list.length)
const isRow = (line: string): boolean => line.length > 17 && line === checked(line.slice(17))

/**
 * Somebody without the secret changes the ledger's folder. Returns undefined if there is nothing to change that way, and whether later rows
 * of the file show the change without the mark.
 */
async function attack(
  { folder, secret }: Made,
  { kind, file, at, to, knowsFormat }: Attack,
): Promise<{ isInside: boolean } | undefined> {
  const names = await ledgerFiles(folder)
  const name = names[pick(names, file)] ?? ''
  const path = join(folder, name)
  const lines = readFileSync(path, 'utf8').split('\n').filter(isRow)
  const save = (changed: readonly string[], at = path) => writeFileSync(at, `${changed.join('\n')}\n`)
  const index = pick(lines, at)
  const other = pick(lines, to)
  if (kind === 'forge') {
    const forged = [intent('victim'), items('victim'), commit('victim')]
    if (knowsFormat) {
      // A ledger of another secret: same format, valid in itself.
      const elsewhere = mkdtempSync(join(root, 'evil-'))
      const ledger = fileLedger(elsewhere, { secret: () => `${secret} not` })
      for (const row of forged) await ledger.append(row)
      await ledger.close()
      for (const made of await ledgerFiles(elsewhere)) appendFileSync(path, readFileSync(join(elsewhere, made)))
    } else appendFileSync(path, forged.map((row) => `\n${checked(JSON.stringify(row))}\n`).join(''))
    return { isInside: true }
  }
  if (kind === 'edit') {
    const row = lines[index]?.slice(17).replace(/("id":"|"agents":\["|"at":")(.)/, '$1X$2') ?? ''
    save(lines.with(index, knowsFormat ? checked(row) : `${lines[index]?.slice(0, 16)} ${row}`))
    return { isInside: index < lines.length - 8 }
  }
  if (kind === 'remove') save(lines.toSpliced(index, 1))
  if (kind === 'truncate') save(lines.slice(0, index))
  if (kind === 'drop') rmSync(path)
  if (kind === 'reorder') {
    if (index === other) return undefined
    save(lines.with(index, lines[other] ?? '').with(other, lines[index] ?? ''))
  }
  if (kind === 'replay') {
    const target = knowsFormat ? path : join(folder, names.at(-1) ?? '')
    const into = readFileSync(target, 'utf8').split('\n').filter(isRow)
    save(into.toSpliced(pick(into, to) + 1, 0, lines[index] ?? ''), target)
  }
  if (kind === 'installation') {
    // Another installation with the same secret, such as a copy for tests: every row is valid there.
    const elsewhere = mkdtempSync(join(root, 'copy-'))
    const ledger = fileLedger(elsewhere, { secret: () => secret })
    for (const row of [intent('victim'), items('victim'), commit('victim')]) await ledger.append(row)
    await ledger.close()
    for (const made of await ledgerFiles(elsewhere)) {
      const content = readFileSync(join(elsewhere, made))
      if (knowsFormat) appendFileSync(path, content)
      else writeFileSync(join(folder, made), content)
    }
  }
  // Repeats consecutive rows at the end of their file, or copies the file of a month to the name of another month.
  if (kind === 'block') appendFileSync(path, `\n${lines.slice(Math.min(index, other)).join('\n')}\n`)
  if (kind === 'file') {
    const target = knowsFormat ? '2027-12.ledger' : (names[pick(names, to)] ?? '')
    if (target === name) return undefined
    cpSync(path, join(folder, target))
  }
  if (kind === 'head') {
    if (knowsFormat) rmSync(join(folder, 'ledger.head'))
    else renameSync(join(folder, 'ledger.head'), join(folder, 'gone.head'))
  }
  return { isInside: (kind === 'remove' || kind === 'reorder') && Math.max(index, other) < lines.length - 8 }
}

test('read never acts on forged, changed, moved or repeated rows, and inspect reports them and removed rows', async () => {
  const attacks = { tried: 0, unseen: [] as unknown[] }
  const runs = sampledRuns('forged ledgers', 600, 60)
  await fc.assert(
    fc.asyncProperty(History, Attack, async (history, how) => {
      const made = await perform(history)
      const honest = await rowsOf(made)
      const attacked = await attack(made, how)
      if (!attacked) return
      attacks.tried++
      const { problems, mark } = await inspect(made)
      const isReported = problems.some(isAlteration) || !['contained'].includes(mark)
      const invented = inventedIn(await rowsOf(made), honest)
      if (!isReported || invented.length > 0) attacks.unseen.push({ how, history, problems, mark, invented })
      expect([isReported, invented]).toEqual([true, []])
      if (attacked.isInside) expect(problems.some(isAlteration)).toBe(true)
      rmSync(made.place, { recursive: true })
    }),
    { seed: sampleSeed, numRuns: runs, endOnFailure: true },
  )
  // Some attacks have nothing to change.
  expect(attacks.tried).toBeGreaterThanOrEqual(runs > 500 ? 500 : 40)
}, 900_000)
