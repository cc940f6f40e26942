// The migration that makes shorter periods in force periods like any other.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'

const migration = readFileSync(
  join(import.meta.dirname, '../../../prisma/migrations/20261130115600_settled_periods/migration.sql'),
  'utf8',
)
let test: TestApp
let owner: pg.Client
beforeAll(async () => {
  test = await testApp()
  owner = new pg.Client({ connectionString: test.ownerUrl })
  await owner.connect()
})
afterAll(async () => {
  await owner?.end()
  await test?.close()
})

const past = new Date('2000-01-02T00:00:00Z')
const future = new Date('2999-01-01T00:00:00Z')
const setAt = new Date('2000-01-01T00:00:00Z')
type Visibility = 'private' | 'org' | 'network'
const shortened = (visibility: Visibility, days: number, startsAt: Date, isReset = false) =>
  test.db.prisma.retentionShortening.create({
    data: { visibility, days, startsAt, isReset, setBy: 'user:shorter', setAt },
  })
const overridden = (visibility: Visibility, days: number | null) =>
  test.db.prisma.retentionOverride.create({ data: { visibility, days, setBy: 'user:before', setAt } })
const stored = async () => ({
  overrides: await test.db.prisma.retentionOverride.findMany({ orderBy: { visibility: 'asc' } }),
  waiting: await test.db.prisma.retentionShortening.findMany({ orderBy: { visibility: 'asc' } }),
})
const cleared = async () => {
  await test.db.prisma.retentionOverride.deleteMany()
  await test.db.prisma.retentionShortening.deleteMany()
}

it('replaces the period with one in force, removes the period that a reset in force ends, and leaves one that waits', async () => {
  await cleared()
  await overridden('private', 90)
  await overridden('network', 365)
  await overridden('org', 400)
  await shortened('private', 30, past)
  await shortened('network', 180, past, true)
  await shortened('org', 7, future)
  await owner.query(migration)
  const expected = {
    overrides: [
      { visibility: 'private', days: 30, setBy: 'user:shorter', setAt },
      { visibility: 'org', days: 400, setBy: 'user:before', setAt },
    ],
    waiting: [{ visibility: 'org', days: 7, isReset: false, startsAt: future, setBy: 'user:shorter', setAt }],
  }
  const sorted = ({ overrides, waiting }: Awaited<ReturnType<typeof stored>>) => ({
    overrides: overrides.toSorted((one, other) => other.visibility.localeCompare(one.visibility)),
    waiting,
  })
  expect(sorted(await stored())).toEqual(expected)
  // A second run changes nothing.
  await owner.query(migration)
  expect(sorted(await stored())).toEqual(expected)
})

it('creates the period where only the environment set one, also over a period without end', async () => {
  await cleared()
  await overridden('network', null)
  await shortened('network', 60, past)
  await shortened('private', 14, past)
  await shortened('org', 90, past, true)
  await owner.query(migration)
  const { overrides, waiting } = await stored()
  expect(overrides.map(({ visibility, days }) => [visibility, days]).toSorted()).toEqual([
    ['network', 60],
    ['private', 14],
  ])
  expect(waiting).toEqual([])
})
