import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readEnv } from '#lib/config/env.ts'
import { openInstallation, prepareInstallation } from '#lib/platform/installation.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { type TestApp, testApp, testSecret } from '#lib/testing/app.ts'
import { commandLine } from '#lib/testing/command-line.ts'
import { type TestDatabase, testDatabase } from '#lib/testing/database.ts'
import { rowsOf } from '#lib/testing/everything.ts'
import { type Issued, issuedAgent } from '#lib/testing/people.ts'
import { trace } from '#lib/testing/units.ts'

let root: string
let world: TestApp
let line: ReturnType<typeof commandLine>
let reader: Issued
let units: string[]
let recipient: string
let atBackup: Map<string, string>
let rulesAtBackup: string[]
const databases: TestDatabase[] = []
const file = (name: string): string => join(root, name)
const kp = (env: Record<string, string>, ...args: string[]) => line.run(args, { env })

const source = (): Record<string, string> => ({
  DATABASE_URL: world.app.env.DATABASE_URL ?? '',
  DATABASE_MIGRATION_URL: world.ownerUrl,
  KP_DATA_DIR: world.dataDir,
  KP_SECRET: testSecret,
  KP_LEDGER_URL: file('ledger'),
  KP_LEDGER_MARK: file('mark'),
})

/** An empty database on the server of the tests. */
async function emptyDatabase(): Promise<TestDatabase> {
  const name = `restored_${randomBytes(6).toString('hex')}`
  const at = (url: string, database: string) => Object.assign(new URL(url), { pathname: `/${database}` }).href
  const admin = (sql: string) => withConnection(at(world.ownerUrl, 'postgres'), (client) => client.query(sql))
  await admin(`CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'UTF8'`)
  const made = {
    ownerUrl: at(world.ownerUrl, name),
    appUrl: at(world.app.env.DATABASE_URL ?? '', name),
    drop: async () => {
      await admin(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
    },
  }
  databases.push(made)
  return made
}
interface Place {
  database: TestDatabase
  settings: Record<string, string>
}
/** A machine with an empty database, an empty data folder, and a copy of the present ledger unless it is lost. */
async function emptyMachine({ hasLedger = true }: { hasLedger?: boolean } = {}): Promise<Place> {
  const database = await emptyDatabase()
  const home = mkdtempSync(join(root, 'machine-'))
  if (hasLedger) cpSync(file('ledger'), join(home, 'ledger'), { recursive: true })
  return {
    database,
    settings: {
      DATABASE_MIGRATION_URL: database.ownerUrl,
      DATABASE_URL: database.appUrl,
      KP_DATA_DIR: join(home, 'var'),
      KP_SECRET: testSecret,
      KP_LEDGER_URL: join(home, 'ledger'),
      KP_LEDGER_MARK: join(home, 'mark'),
    },
  }
}
/** Starts like `npm start`, and returns the statuses of requests for the units. */
async function statusesAt({ database, settings }: Place): Promise<number[]> {
  await prepareInstallation(readEnv(settings))
  const { DATABASE_MIGRATION_URL: _, ...ofApp } = settings
  const app = await testApp(ofApp, { ...database, drop: async () => {} }, { replaysByItself: true })
  try {
    await app.app.restored.state()
    const statuses: number[] = []
    for (const id of units) statuses.push((await app.fetch('GET', `/v1/knowledge/${id}`, reader)).status)
    return statuses
  } finally {
    await app.close()
  }
}
const accountsIn = ({ ownerUrl }: TestDatabase): Promise<number> =>
  withConnection(ownerUrl, async (client) => {
    const there = await client.query<{ is: boolean }>(`SELECT to_regclass('accounts') IS NOT NULL AS is`)
    if (!there.rows[0]?.is) return 0
    return (await client.query('SELECT FROM accounts')).rowCount ?? 0
  })

/** Constraints, triggers and sequences. */
const rulesOf = (url: string) =>
  withConnection(url, async (client) => {
    const { rows } = await client.query<{ rule: string }>(
      `SELECT conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) || ' ' || convalidated::text AS rule FROM pg_constraint WHERE connamespace <> 'pg_catalog'::regnamespace
       UNION ALL SELECT tgrelid::regclass || ' ' || tgname || ' ' || tgenabled::text FROM pg_trigger WHERE NOT tgisinternal
       UNION ALL SELECT schemaname || '.' || sequencename || ' ' || coalesce(last_value, 0)::text FROM pg_sequences ORDER BY 1`,
    )
    return rows.map(({ rule }) => rule)
  })

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'kp-backups-'))
  chmodSync(root, 0o755)
  const database = await testDatabase()
  const { DATABASE_MIGRATION_URL: _, ...settings } = {
    DATABASE_MIGRATION_URL: '',
    KP_LEDGER_URL: file('ledger'),
    KP_LEDGER_MARK: file('mark'),
  }
  world = await testApp(settings, database)
  line = commandLine(world.url)
  await prepareInstallation(readEnv(source()))
  reader = await issuedAgent(world, ['read', 'write'], { tier: 'enterprise' })
  units = []
  for (let n = 0; n < 3; n++)
    units.push((await world.fetch('POST', '/v1/knowledge', { token: reader.token, body: trace() })).json.data.id)
  expect((await world.fetch('DELETE', `/v1/knowledge/${units[0]}`, reader)).status).toBe(204)
  mkdirSync(join(world.dataDir, 'objects/deep'), { recursive: true })
  writeFileSync(join(world.dataDir, 'objects/deep/empty'), '')
  writeFileSync(join(world.dataDir, 'objects/deep/large'), randomBytes(300_000))

  const made = await kp(source(), 'backup-key', file('key'), '--json')
  recipient = made.json.data.recipient
  const written = await kp(source(), 'backup', file('backup.age'), '--recipient', recipient, '--json')
  expect(written).toMatchObject({ status: 0 })
  expect(written.json.data).toMatchObject({ file: file('backup.age'), objects: 2 })
  atBackup = await rowsOf(world.ownerUrl)
  rulesAtBackup = await rulesOf(world.ownerUrl)
  expect((await world.fetch('DELETE', `/v1/knowledge/${units[1]}`, reader)).status).toBe(204)
  await world.app.ledger.close()
})
afterAll(async () => {
  line?.close()
  await world?.close()
  for (const database of databases) await database.drop()
  rmSync(root, { recursive: true, force: true })
})

const restore = (place: Place, ...more: string[]) =>
  kp(place.settings, 'restore', file('backup.age'), '--identity', file('key'), '--json', ...more)

describe('kp restore', () => {
  it('restores every row and object, and the next start repeats later erasures', async () => {
    const place = await emptyMachine()
    const restored = await restore(place)
    expect(restored).toMatchObject({ status: 0 })
    expect(restored.json.data).toMatchObject({ objects: 2, ledger: 'current' })
    const found = await rowsOf(place.database.ownerUrl)
    const withoutHistory = (rows: Map<string, string>) =>
      [...rows]
        .filter(([name]) => !/^(_prisma_migrations|graphile_worker\.migrations|langgraph\.\w+_migrations) /.test(name))
        .map(([name, value]) => `${name.replace(/ \d+ (\w+) \S+$/, ' $1')} ${value}`)
        .sort()
    expect(withoutHistory(found)).toEqual(withoutHistory(atBackup))
    for (const name of ['empty', 'large'])
      expect(readFileSync(join(place.settings.KP_DATA_DIR ?? '', 'objects/deep', name))).toEqual(
        readFileSync(join(world.dataDir, 'objects/deep', name)),
      )
    expect(await statusesAt(place)).toEqual([410, 410, 200])
  })

  it('keeps foreign keys, triggers and sequences as the migrations define them', async () => {
    const place = await emptyMachine()
    expect((await restore(place)).status).toBe(0)
    expect(await rulesOf(place.database.ownerUrl)).toEqual(rulesAtBackup)
  })

  it('refuses in one line while the ledger is missing, and uses the copy in the backup when the ledger is declared lost', async () => {
    const place = await emptyMachine({ hasLedger: false })
    const refused = await restore(place)
    expect(refused.status).toBe(1)
    expect(refused.err).toContain('There is no erasure ledger in')
    expect(await accountsIn(place.database)).toBe(0)
    const accepted = await restore(place, '--ledger-lost')
    expect(accepted).toMatchObject({ status: 0 })
    expect(accepted.json.data.ledger).toBe('of the backup')
    // The second unit was erased after the backup. Only the lost ledger knew it, which the operator accepted.
    expect(await statusesAt(place)).toEqual([410, 200, 200])
  })

  it('changes nothing when the backup is cut short, altered, foreign or for another key', async () => {
    const whole = readFileSync(file('backup.age'))
    const flipped = Buffer.from(whole)
    flipped.writeUInt8(flipped.readUInt8(whole.length - 5000) ^ 1, whole.length - 5000)
    writeFileSync(file('cut'), whole.subarray(0, whole.length - 70_000))
    writeFileSync(file('begun'), whole.subarray(0, 400))
    writeFileSync(file('flipped'), flipped)
    writeFileSync(file('noise'), randomBytes(4096))
    await kp(source(), 'backup-key', file('other-key'))
    const place = await emptyMachine()
    for (const [name, key] of [
      ['cut', 'key'],
      ['begun', 'key'],
      ['flipped', 'key'],
      ['noise', 'key'],
      ['backup.age', 'other-key'],
    ] as const) {
      const refused = await kp(place.settings, 'restore', file(name), '--identity', file(key), '--json')
      expect([name, refused.status, JSON.parse(refused.err).error.code]).toEqual([name, 1, 'invalid'])
      expect(await accountsIn(place.database)).toBe(0)
    }
    expect(existsSync(join(place.settings.KP_DATA_DIR ?? '', 'objects'))).toBe(false)
    expect(readdirSync(place.settings.KP_DATA_DIR ?? '').filter((name) => name.includes('restoring'))).toEqual([])
    expect((await restore(place)).status).toBe(0)
  })

  it('refuses a database that already contains an installation, and another secret', async () => {
    const place = await emptyMachine()
    const inUse = await restore({ ...place, settings: { ...place.settings, DATABASE_MIGRATION_URL: world.ownerUrl } })
    expect(inUse.err).toContain('already contains an installation')
    const other = { ...place, settings: { ...place.settings, KP_SECRET: 'the secret of another installation' } }
    expect((await restore(other)).status).toBe(0)
    // The backup has no secret, because it came from KP_SECRET: the start compares it with the database.
    await expect(prepareInstallation(readEnv(other.settings))).rejects.toThrow(/secret/)
  })
})

describe('kp backup', () => {
  it('writes nothing without a recipient, over an existing file, or to a recipient that is not one', async () => {
    const without = await kp(source(), 'backup', file('none.age'))
    expect([without.status, without.err]).toEqual([2, expect.stringContaining('--recipient')])
    const over = await kp(source(), 'backup', file('backup.age'), '--recipient', recipient)
    expect([over.status, over.err]).toEqual([2, expect.stringContaining('exists')])
    const wrong = await kp(source(), 'backup', file('wrong.age'), '--recipient', 'age1notarecipient')
    expect(wrong.status).not.toBe(0)
    expect(['none.age', 'wrong.age', 'wrong.age.part'].filter((name) => existsSync(file(name)))).toEqual([])
  })

  it('writes an archive that tar opens when it is not encrypted', async () => {
    expect((await kp(source(), 'backup', file('plain.tar.gz'), '--plain')).status).toBe(0)
    const names = execFileSync('tar', ['-tzf', file('plain.tar.gz')], { encoding: 'utf8' })
      .trim()
      .split('\n')
    expect([names[0], names.at(-1)]).toEqual(['backup.json', 'complete.json'])
    expect(names).toContain('objects/deep/large')
    expect(readFileSync(file('backup.age')).subarray(0, 21).toString()).toBe('age-encryption.org/v1')
  })

  it('copies the embedded database, which kp restore --replace puts back with its secret', async () => {
    const home = mkdtempSync(join(root, 'embedded-'))
    chmodSync(home, 0o755)
    const settings = {
      KP_DATA_DIR: join(home, 'var'),
      KP_LEDGER_URL: join(home, 'ledger'),
      KP_LEDGER_MARK: join(home, 'mark'),
    }
    const while_ = async <T>(work: (app: TestApp) => Promise<T>): Promise<T> => {
      const { appUrl, embedded } = await openInstallation(readEnv(settings))
      const secret = readFileSync(join(settings.KP_DATA_DIR, 'secret'), 'utf8').trim()
      const ownerUrl = embedded?.ownerUrl('kp') ?? ''
      const app = await testApp(
        { ...settings, KP_SECRET: secret },
        { appUrl, ownerUrl, drop: async () => {} },
        { replaysByItself: true },
      )
      try {
        return await work(app)
      } finally {
        await app.close()
        await embedded?.stop()
      }
    }
    const made = await while_(async (app) => {
      const owner = await issuedAgent(app, ['read', 'write'])
      const add = async () =>
        (await app.fetch('POST', '/v1/knowledge', { token: owner.token, body: trace() })).json.data.id
      return { owner, erased: await add(), stays: await add() }
    })
    const backup = await kp(settings, 'backup', file('embedded.age'), '--recipient', recipient)
    expect([backup.status, backup.err]).toEqual([0, expect.not.stringContaining('KP_SECRET')])
    await while_(async (app) => {
      expect((await app.fetch('DELETE', `/v1/knowledge/${made.erased}`, made.owner)).status).toBe(204)
    })
    const args = ['restore', file('embedded.age'), '--identity', file('key')]
    const refused = await kp(settings, ...args)
    expect([refused.status, refused.err]).toEqual([1, expect.stringContaining('--replace')])
    rmSync(join(settings.KP_DATA_DIR, 'secret'))
    expect((await kp(settings, ...args, '--replace')).status).toBe(0)
    await while_(async (app) => {
      await app.app.restored.state()
      const statuses = []
      for (const id of [made.erased, made.stays])
        statuses.push((await app.fetch('GET', `/v1/knowledge/${id}`, made.owner)).status)
      expect(statuses).toEqual([410, 200])
    })
  })
})
