import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { readEnv } from '#lib/config/env.ts'
import { openInstallation, prepareInstallation } from '#lib/platform/installation.ts'
import type { LedgerDecisions } from '#lib/platform/ledger-settling.ts'
import { DatabaseFault } from '#lib/stores/postgres/fault.ts'
import { type TestApp, testApp, testSecret } from '#lib/testing/app.ts'
import { backupOf } from '#lib/testing/backup.ts'
import { type TestDatabase, testDatabase } from '#lib/testing/database.ts'
import { type Issued, issuedAgent } from '#lib/testing/people.ts'
import { trace } from '#lib/testing/units.ts'

/** What a backup contains: the database and the ledger of one moment. */
interface Moment {
  database: TestDatabase
  ledger: string
  mark: string
}

let root: string
let world: TestApp
let reader: Issued
/** Before the first start of a version that records its ledger. */
let unprepared: TestDatabase
/** Nothing was erased yet; one unit was erased; two units were erased. */
let never: Moment
let once: Moment
let now: Moment
let units: string[]
const otherSecret = 'the secret of another installation'
let other: Moment
const databases: TestDatabase[] = []

const copied = (source: string, name: string): string => {
  const target = join(mkdtempSync(join(root, 'copy-')), name)
  if (existsSync(source)) cpSync(source, target, { recursive: true })
  return target
}
async function copyOf(source: TestDatabase): Promise<TestDatabase> {
  const env = { ...world.app.env, DATABASE_URL: source.appUrl }
  const copy = await backupOf({ ownerUrl: source.ownerUrl, env })
  databases.push(copy)
  return copy
}
/** The environment of an installation with this database, ledger and mark. */
const settingsOf = ({ database, ledger, mark }: Moment, secret = testSecret) => ({
  DATABASE_URL: database.appUrl,
  DATABASE_MIGRATION_URL: database.ownerUrl,
  KP_LEDGER_URL: ledger,
  KP_LEDGER_MARK: mark,
  KP_SECRET: secret,
})
const prepare = (moment: Moment, { secret = testSecret, ...decisions }: LedgerDecisions & { secret?: string } = {}) =>
  prepareInstallation({
    ...readEnv({ ...settingsOf(moment, secret), KP_DATA_DIR: mkdtempSync(join(root, 'var-')) }),
    ...decisions,
  })

async function momentOf(app: TestApp, place: { ledger: string; mark: string }): Promise<Moment> {
  // Waits until the mark follows the last row.
  await app.app.ledger.close()
  return {
    database: await copyOf({ ownerUrl: app.ownerUrl, appUrl: app.app.env.DATABASE_URL ?? '', drop: async () => {} }),
    ledger: copied(place.ledger, 'ledger'),
    mark: copied(place.mark, 'mark'),
  }
}

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'kp-restores-'))
  const database = await testDatabase()
  const place = { ledger: join(root, 'ledger'), mark: join(root, 'mark') }
  const { DATABASE_MIGRATION_URL: _, ...settings } = settingsOf({ database, ...place })
  world = await testApp(settings, database)
  unprepared = await copyOf(database)
  await prepare({ database, ...place })
  reader = await issuedAgent(world, ['read', 'write'], { tier: 'enterprise' })
  units = []
  for (let n = 0; n < 3; n++)
    units.push((await world.fetch('POST', '/v1/knowledge', { token: reader.token, body: trace() })).json.data.id)
  never = await momentOf(world, place)
  expect((await world.fetch('DELETE', `/v1/knowledge/${units[0]}`, { token: reader.token })).status).toBe(204)
  once = await momentOf(world, place)
  expect((await world.fetch('DELETE', `/v1/knowledge/${units[1]}`, { token: reader.token })).status).toBe(204)
  now = await momentOf(world, place)
  const foreign = await testDatabase()
  databases.push(foreign)
  other = { database: foreign, ledger: join(root, 'other'), mark: join(root, 'other.mark') }
  await prepare(other, { secret: otherSecret })
})
afterAll(async () => {
  await world?.close()
  for (const database of databases) await database.drop()
  rmSync(root, { recursive: true, force: true })
})

interface Restored {
  database: TestDatabase
  /** Undefined: there is no ledger at its place. */
  ledger?: string | undefined
  secret?: string
}
/** Puts copies of these in place beside the present mark. */
async function restored({ database, ledger }: Restored): Promise<Moment> {
  return {
    database: await copyOf(database),
    ledger: ledger === undefined ? join(mkdtempSync(join(root, 'none-')), 'ledger') : copied(ledger, 'ledger'),
    mark: copied(now.mark, 'mark'),
  }
}
/** Starts like `npm start`. Returns the refusal in one line, or the statuses of requests for the three units. */
async function start(moment: Moment, how: LedgerDecisions & { secret?: string } = {}) {
  try {
    await prepare(moment, how)
  } catch (error) {
    if (!(error instanceof DatabaseFault)) throw error
    return { code: error.code, line: error.message }
  }
  const { DATABASE_MIGRATION_URL: _, ...settings } = settingsOf(moment)
  const database = { ...moment.database, drop: async () => {} }
  const app = await testApp(settings, database, { replaysByItself: true })
  try {
    const state = await app.app.restored.state()
    const written = await app.app.writeMissingRows()
    const statuses: number[] = []
    for (const id of units)
      statuses.push((await app.fetch('GET', `/v1/knowledge/${id}`, { token: reader.token })).status)
    const ready = (await app.fetch('GET', '/ready')).json
    return { statuses, state, written, ready: ready.status, attention: ready.attention }
  } finally {
    await app.close()
  }
}
const erased = [410, 410, 200]

describe('a start with the present ledger', () => {
  it.each([
    ['the present database', () => now.database],
    ['a database from after the first erasure', () => once.database],
    ['a database from before the first erasure', () => never.database],
    ['a database from before the first start', () => unprepared],
  ])('serves nothing that was erased from %s', async (_, database) => {
    const outcome = await start(await restored({ database: database(), ledger: now.ledger }))
    // The last database is from before its units, which do not exist in it.
    if (database() === unprepared) expect(outcome.statuses).not.toContain(200)
    else expect(outcome).toMatchObject({ statuses: erased, state: { missing: 0, alterations: 0 }, ready: 'ready' })
  })
})

describe('a start without the present ledger', () => {
  it.each<[string, () => Restored, string]>([
    ['the whole folder from after the first erasure', () => once, 'LEDGER_OLDER'],
    ['the whole folder from before the first erasure', () => never, 'LEDGER_OLDER'],
    ['an older database and an even older ledger', () => ({ ...once, ledger: never.ledger }), 'LEDGER_OLDER'],
    ['an older database and no ledger', () => ({ database: once.database }), 'LEDGER_AWAY'],
    ['a database from before the first erasure and no ledger', () => ({ database: never.database }), 'LEDGER_AWAY'],
    ['a database from before the first start and no ledger', () => ({ database: unprepared }), 'LEDGER_AWAY'],
    ['the present database and no ledger', () => ({ database: now.database }), 'LEDGER_AWAY'],
    ['the ledger of another installation', () => ({ ...now, ledger: other.ledger }), 'LEDGER_AWAY'],
    ['the database of another installation', () => ({ ...other, ledger: now.ledger }), 'SECRET_FOREIGN'],
  ])('refuses %s in one line that names the remedy', async (_, what, code) => {
    const outcome = await start(await restored(what()))
    expect(outcome).toMatchObject({ code })
    expect(outcome.line?.split('\n')).toHaveLength(1)
    expect(outcome.line).toMatch(code === 'SECRET_FOREIGN' ? /kp keys accept-lost-secret/ : /kp erasures accept-loss/)
  })

  it('writes the missing rows back from the present database, so that a later restore repeats them', async () => {
    const moment = await restored({ database: now.database, ledger: never.ledger })
    expect(await start(moment)).toMatchObject({ statuses: erased, written: 2, ready: 'ready' })
    const later = { ...moment, database: await copyOf(once.database) }
    expect(await start(later)).toMatchObject({ statuses: erased, state: { missing: 0 } })
  })

  it('starts after an operator accepted the loss, and starts again without it', async () => {
    const moment = await restored(once)
    expect(await start(moment)).toMatchObject({ code: 'LEDGER_OLDER' })
    // What was erased after this ledger is back: the operator was told.
    expect(await start(moment, { isLedgerLost: true })).toMatchObject({ statuses: [410, 200, 200] })
    expect(await start(moment)).toMatchObject({ statuses: [410, 200, 200], ready: 'ready' })
  })

  it('starts with a new ledger after an operator declared the ledger lost', async () => {
    const moment = await restored({ database: now.database })
    expect(await start(moment, { isLedgerLost: true })).toMatchObject({ statuses: erased, written: 2 })
    const later = { ...moment, database: await copyOf(never.database) }
    // The older database names the lost ledger.
    expect(await start(later)).toMatchObject({ code: 'LEDGER_AWAY' })
    expect(await start(later, { isLedgerLost: true })).toMatchObject({ statuses: erased })
  })
})

describe('an embedded installation', () => {
  /** Copies of its data folder and ledger, by moment. */
  const moments = new Map<string, { data: string; ledger: string }>()
  const place = { data: '', ledger: '', mark: '' }
  let agent: Issued
  let stored: string[]

  /** Copies a folder with its owner: the database runs as a user of its own. */
  function folderLike(source: string | undefined): string {
    const target = join(mkdtempSync(join(root, 'embedded-')), 'folder')
    chmodSync(join(target, '..'), 0o755)
    if (source !== undefined) execFileSync('cp', ['-a', source, target])
    return target
  }
  /** Starts the installation, as `npm start` does, for the work. @throws DatabaseFault */
  async function running<T>({ data, ledger, mark }: typeof place, work: (app: TestApp) => Promise<T>): Promise<T> {
    const settings = { KP_DATA_DIR: data, KP_LEDGER_URL: ledger, KP_LEDGER_MARK: mark, KP_SECRET: testSecret }
    const { embedded, appUrl, ownerUrl } = await openInstallation(readEnv(settings))
    try {
      const { KP_DATA_DIR: _, ...rest } = settings
      const database = { ownerUrl, appUrl, drop: async () => {} }
      const app = await testApp({ ...rest, DATABASE_URL: appUrl }, database, { replaysByItself: true })
      try {
        return await work(app)
      } finally {
        await app.close()
      }
    } finally {
      await embedded?.stop()
    }
  }
  const statusesNow = (app: TestApp) =>
    Promise.all(
      stored.map(async (id) => (await app.fetch('GET', `/v1/knowledge/${id}`, { token: agent.token })).status),
    )
  /** What the open installation answers. A busy machine may answer 503 before, but never with an erased unit. */
  async function statusesIn(app: TestApp): Promise<number[]> {
    let statuses: number[] = []
    await vi.waitUntil(
      async () => {
        statuses = await statusesNow(app)
        expect(statuses.slice(0, 2)).not.toContain(200)
        return !statuses.includes(503)
      },
      { timeout: 60_000, interval: 100 },
    )
    return statuses
  }

  beforeAll(async () => {
    chmodSync(root, 0o755)
    for (const name of ['data', 'ledger', 'mark'] as const) place[name] = folderLike(undefined)
    const keep = (name: string) =>
      moments.set(name, {
        data: folderLike(place.data),
        ledger: folderLike(existsSync(place.ledger) ? place.ledger : undefined),
      })
    stored = []
    await running(place, async (app) => {
      agent = await issuedAgent(app, ['read', 'write'], { tier: 'enterprise' })
      for (let n = 0; n < 3; n++)
        stored.push((await app.fetch('POST', '/v1/knowledge', { token: agent.token, body: trace() })).json.data.id)
    })
    keep('never')
    for (const [n, name] of ['once', 'now'].entries()) {
      await running(place, async (app) => {
        const { status } = await app.fetch('DELETE', `/v1/knowledge/${stored[n]}`, { token: agent.token })
        expect(status).toBe(204)
      })
      keep(name)
    }
  }, 300_000)

  /** Copies of the data folder and the ledger at these moments, together with the current mark. */
  const restoredFrom = (data: string, ledger: string | undefined): typeof place => ({
    data: folderLike(moments.get(data)?.data),
    ledger: folderLike(ledger === undefined ? undefined : moments.get(ledger)?.ledger),
    mark: folderLike(place.mark),
  })

  it.each(['now', 'once', 'never'])(
    'serves nothing that was erased from its data folder of %s beside the present ledger',
    async (data) => {
      expect(await running(restoredFrom(data, 'now'), statusesIn)).toEqual(erased)
    },
    120_000,
  )

  it.each([
    ['once', 'once', 'LEDGER_OLDER'],
    ['never', 'never', 'LEDGER_OLDER'],
    ['once', 'never', 'LEDGER_OLDER'],
    ['once', undefined, 'LEDGER_AWAY'],
    ['never', undefined, 'LEDGER_AWAY'],
    ['now', undefined, 'LEDGER_AWAY'],
  ])(
    'refuses its data folder of %s with the ledger of %s in one line that names the remedy',
    async (data, ledger, code) => {
      const refusal = await running(restoredFrom(data, ledger), statusesIn).catch((error: unknown) => error)
      expect(refusal).toBeInstanceOf(DatabaseFault)
      expect(refusal).toMatchObject({ code, message: expect.stringMatching(/^[^\n]*kp erasures accept-loss[^\n]*$/) })
    },
    120_000,
  )
})
