import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { runJobsAfterReplay } from '#lib/jobs/runner.ts'
import type { RunnableJob } from '#lib/kernel/job.ts'
import { operator } from '#lib/operator/operator.ts'
import { fileLedger } from '#lib/stores/ledger/ledger.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { type TestApp, testApp, testSecret } from '#lib/testing/app.ts'
import { backupOf } from '#lib/testing/backup.ts'
import type { TestDatabase } from '#lib/testing/database.ts'
import { drain } from '#lib/testing/jobs.ts'
import { type Issued, issuedAgent, signedIn } from '#lib/testing/people.ts'
import { trace } from '#lib/testing/units.ts'
import { verifyReceipt } from '../receipts/signing.ts'
import { executedErasures } from './ledger-history.ts'
import { restoredDatabase } from './restored-database.ts'

interface Erased {
  agent: Issued
  reader: Issued
  units: string[]
  receipt: string
}
let folder: string
let before: TestApp
let erased: Erased
/** Backups from before and after the erasures. */
let backup: TestDatabase
let present: TestDatabase
let restored: TestApp | undefined

const contribute = async ({ token }: Issued): Promise<string> =>
  (await before.fetch('POST', '/v1/knowledge', { token, body: trace() })).json.data.id
const copyOf = ({ ownerUrl, appUrl }: TestDatabase) =>
  backupOf({ ownerUrl, env: { ...before.app.env, DATABASE_URL: appUrl } })

/** Erases a person with an agent, and a unit of another agent. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kp-restored-'))
  before = await testApp({ KP_LEDGER_URL: join(folder, 'ledger') })
  const person = await signedIn(before)
  const agent = await issuedAgent(before, ['read', 'write'], { owner: person })
  const reader = await issuedAgent(before, ['read', 'write', 'admin'], { tier: 'enterprise' })
  const units = [await contribute(agent), await contribute(reader)]
  expect((await before.fetch('GET', `/v1/knowledge/${units[0]}`, { token: reader.token })).status).toBe(200)
  backup = await backupOf({ ownerUrl: before.ownerUrl, env: before.app.env })
  const { receiptId } = await before.db.transaction((tx) =>
    before.app.subjectErasures.begin(tx, {
      requestId: null,
      subject: { account: person.accountId, agents: [] },
      requestedBy: `user:${person.accountId}`,
      reason: 'user_request',
      now: before.clock.now(),
    }),
  )
  await drain(before)
  expect((await before.fetch('DELETE', `/v1/knowledge/${units[1]}`, { token: reader.token })).status).toBe(204)
  erased = { agent, reader, units, receipt: receiptId }
  present = await backupOf({ ownerUrl: before.ownerUrl, env: before.app.env })
})
afterEach(async () => {
  await restored?.close()
  restored = undefined
})
afterAll(async () => {
  await backup?.drop()
  await present?.drop()
  await before?.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Starts a separate application with copies of a database and of the ledger. */
async function open(source: TestDatabase, replaysByItself = false): Promise<TestApp> {
  const ledger = mkdtempSync(join(folder, 'copy-'))
  cpSync(join(folder, 'ledger'), ledger, { recursive: true })
  restored = await testApp({ KP_LEDGER_URL: ledger }, await copyOf(source), { replaysByItself })
  return restored
}
/** Returns the statuses of requests for erased data: two units, the erased agent's token, and a page. */
async function served(app: TestApp) {
  const { agent, reader, units } = erased
  const statuses: number[] = []
  for (const id of units) statuses.push((await app.fetch('GET', `/v1/knowledge/${id}`, { token: reader.token })).status)
  statuses.push((await app.fetch('GET', '/v1/auth/me', { token: agent.token })).status)
  statuses.push((await app.fetch('GET', '/knowledge')).status)
  return statuses
}
const refusedAll = [503, 503, 503, 503]
const erasedAll = [404, 410, 401, 404]

describe('a database restored from a backup that is older than an erasure', () => {
  it('rejects requests with 503 until the command replays the ledger', async () => {
    const app = await open(backup)
    expect(await served(app)).toEqual(refusedAll)
    const refused = await app.fetch('GET', '/v1/auth/me', { token: erased.reader.token })
    expect(refused.json.detail).toMatch(/does not know 2 erasures .* Run kp erasures replay/)
    expect(refused.headers.get('retry-after')).toBe('10')
    const ready = await app.fetch('GET', '/ready')
    expect(ready.status).toBe(503)
    expect(ready.json).toMatchObject({
      status: 'not_ready',
      attention: expect.arrayContaining(['erasures_not_replayed']),
    })
    expect((await app.fetch('GET', '/health')).status).toBe(200)

    await operator(app.app).replayErasures()
    await expect.poll(() => served(app), { timeout: 60_000 }).toEqual(erasedAll)
    expect((await app.fetch('GET', '/ready')).json.status).toBe('ready')
    expect((await app.fetch('GET', `/v1/receipts/${erased.receipt}`)).status).toBe(200)
  })

  it('is replayed automatically before the first response when one process runs everything', async () => {
    const app = await open(backup, true)
    await expect
      .poll(
        async () => {
          const statuses = await served(app)
          // During the replay, requests are rejected, never served from the backup.
          for (const [n, status] of statuses.entries()) expect([503, erasedAll[n]]).toContain(status)
          return statuses
        },
        { timeout: 60_000 },
      )
      .toEqual(erasedAll)
    expect((await app.fetch('GET', '/ready')).json.status).toBe('ready')
  })

  /** Replaces the database under a running application by a copy of another one. */
  async function becomes(app: TestApp, other: TestDatabase, meanwhile?: () => Promise<void>): Promise<void> {
    const name = new URL(app.ownerUrl).pathname.slice(1)
    const source = new URL(other.ownerUrl).pathname.slice(1)
    await withConnection(Object.assign(new URL(app.ownerUrl), { pathname: '/postgres' }).href, async (admin) => {
      await admin.query(`DROP DATABASE ${name} WITH (FORCE)`)
      await meanwhile?.()
      await admin.query(`CREATE DATABASE ${name} TEMPLATE ${source}`)
    })
  }

  it('is detected under a running server before the first response after its connections were lost', async () => {
    const app = await open(present)
    expect(await served(app)).toEqual(erasedAll)
    await becomes(app, backup)
    expect(await served(app)).toEqual(refusedAll)
    expect((await app.fetch('GET', '/ready')).status).toBe(503)
    await operator(app.app).replayErasures()
    await expect.poll(() => served(app), { timeout: 60_000 }).toEqual(erasedAll)
  })

  /** A unit of an application, whose database is replaced by its state before the erasure of that unit. */
  async function failover(eraseMeanwhile: {
    before(app: TestApp, id: string): Promise<string>
    without(app: TestApp, receipt: string): Promise<void>
  }) {
    const app = await open(present)
    const { token } = erased.reader
    const { id } = (await app.fetch('POST', '/v1/knowledge', { token, body: trace() })).json.data
    const standby = await backupOf({ ownerUrl: app.ownerUrl, env: app.app.env })
    onTestFinished(standby.drop)
    expect(await app.app.restored.state()).toMatchObject({ missing: 0 })
    const receipt = await eraseMeanwhile.before(app, id)
    await becomes(app, standby, () => eraseMeanwhile.without(app, receipt))
    const read = () => app.fetch('GET', `/v1/knowledge/${id}`, { token })
    expect((await read()).status).toBe(503)
    expect(await app.app.restored.state()).toMatchObject({ missing: 1 })
    expect(await operator(app.app).replayErasures()).toMatchObject({ erased: 1, reinstated: 1 })
    await expect.poll(async () => (await read()).status, { timeout: 60_000 }).toBe(410)
    const answer = await app.fetch('GET', `/v1/receipts/${receipt}`)
    // The reason says that the erasure was repeated: the signature of the first one may be lost.
    expect([answer.status, answer.json]).toMatchObject([200, { receipt_id: receipt, deleted_id: id, reason: 'replay' }])
    const { keys } = (await app.fetch('GET', '/.well-known/jwks.json')).json
    expect(await verifyReceipt(answer.json, keys)).toMatchObject({ kid: keys[0].kid })
  }

  it('is detected after a failover although a comparison during the outage read the lost erasure', () =>
    failover({
      async before(app, id) {
        const answer = await app.fetch('DELETE', `/v1/knowledge/${id}`, { token: erased.reader.token })
        expect(answer.status).toBe(204)
        return answer.headers.get('x-deletion-receipt') ?? ''
      },
      without: (app) => expect(app.app.restored.state()).rejects.toThrow(),
    }))

  it('is detected after a failover although the database was lost between the commit and its verification', () =>
    failover({
      before: (app, id) =>
        app.db.transaction((tx) =>
          app.app.erasures.begin(tx, {
            scope: { unit: id },
            formerOwner: erased.reader.id,
            requestedBy: erased.reader.id,
            reason: 'user_request',
            wasPublic: true,
            now: app.clock.now(),
          }),
        ),
      without: (app, receipt) => expect(app.app.erasures.finishCommitted(receipt)).rejects.toThrow(),
    }))

  it('ends with a signed receipt after a failover that lost only the signature', async () => {
    const app = await open(present)
    const { id } = (await app.fetch('POST', '/v1/knowledge', { token: erased.reader.token, body: trace() })).json.data
    const receipt = await app.db.transaction((tx) =>
      app.app.erasures.begin(tx, {
        scope: { unit: id },
        formerOwner: erased.reader.id,
        requestedBy: erased.reader.id,
        reason: 'user_request',
        wasPublic: true,
        now: app.clock.now(),
      }),
    )
    const committed = await backupOf({ ownerUrl: app.ownerUrl, env: app.app.env })
    onTestFinished(committed.drop)
    await app.app.erasures.finishCommitted(receipt)
    await becomes(app, committed)
    const stateOf = async () => (await app.db.prisma.erasure.findUnique({ where: { receiptId: receipt } }))?.state
    await expect.poll(() => stateOf().catch(() => undefined), { timeout: 60_000 }).toBe('committed')
    expect(await app.app.restored.state()).toMatchObject({ missing: 0 })
    await drain(app)
    expect(await stateOf()).toBe('signed')
    const answer = await app.fetch('GET', `/v1/receipts/${receipt}`)
    expect(answer.json).toMatchObject({ deleted_id: id, reason: 'user_request' })
    expect(answer.json.stores).toContainEqual(
      expect.objectContaining({ holder: 'knowledge.units', deleted: 1, residue: 0 }),
    )
  })

  it('is replayed after each of two failovers, without a pause between them', async () => {
    const app = await open(present)
    const ledger = fileLedger(app.app.env.KP_LEDGER_URL ?? '', { secret: () => testSecret })
    const replays: number[] = []
    const restored = restoredDatabase({
      db: app.db,
      ledger,
      replaysByItself: true,
      repeated: { read: async () => [] },
      replay: async () => {
        const report = await operator(app.app).replayErasures()
        replays.push(report.reinstated)
        return report
      },
    })
    expect(await restored.state()).toMatchObject({ missing: 0 })
    for (const count of [1, 2]) {
      await becomes(app, backup)
      const compared = await vi.waitUntil(() => restored.state().catch(() => undefined), 120_000)
      expect(compared).toMatchObject({ missing: 0 })
      expect(replays).toHaveLength(count)
    }
    expect(replays.every((reinstated) => reinstated > 0)).toBe(true)
  })

  it('refuses reads and erasures that another server interrupted, but no answer of a write that is committed', async () => {
    const app = await open(present)
    const { token } = erased.reader
    const created = await app.fetch('POST', '/v1/knowledge', { token, body: trace() })
    const path = `/v1/knowledge/${created.json.data.id}`
    let seen = 0
    const counted = vi.spyOn(app.db, 'servers').mockImplementation(() => ++seen)
    onTestFinished(() => counted.mockRestore())
    expect((await app.fetch('POST', '/v1/knowledge', { token, body: trace() })).status).toBe(201)
    for (const method of ['GET', 'DELETE'] as const) {
      const refused = await app.fetch(method, path, { token })
      expect([refused.status, refused.json.detail]).toEqual([503, expect.stringMatching(/^Another database server/)])
    }
    counted.mockRestore()
    await app.app.restored.state()
    expect((await app.fetch('GET', path, { token })).status).toBe(410)
  })

  it('is compared after a lost connection before the first response, although a replay of unfinished erasures runs', async () => {
    const app = await open(backup)
    const ledger = fileLedger(app.app.env.KP_LEDGER_URL ?? '', { secret: () => testSecret })
    let [lost, known] = [0, [...(await executedErasures(ledger))]]
    expect(known).toHaveLength(2)
    const [begun, isOver] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const counted = vi.spyOn(app.db, 'serverEpoch').mockImplementation(() => lost)
    onTestFinished(() => counted.mockRestore())
    const restored = restoredDatabase({
      db: app.db,
      ledger,
      replaysByItself: true,
      repeated: { read: async () => known },
      replay: async () => {
        begun.resolve()
        await isOver.promise
        throw new Error('the store is still down')
      },
    })
    await restored.admit()
    await begun.promise
    await restored.admit()
    // The server that answers now does not know of these erasures, and no run locks their data.
    ;[lost, known] = [1, []]
    await expect(restored.admit()).rejects.toMatchObject({ code: 'unavailable' })
    isOver.resolve()
  })

  it('is served while one erasure cannot finish, except the data of that erasure', async () => {
    const app = await open(backup)
    const { agent, reader, units } = erased
    await withConnection(app.ownerUrl, (owner) =>
      owner.query(`CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'nothing can be deleted'; END $$;
        CREATE TRIGGER keep BEFORE DELETE ON units FOR EACH ROW WHEN (OLD.id = '${units[0]}') EXECUTE FUNCTION keep()`),
    )
    const { unfinished } = await operator(app.app).replayErasures()
    expect(unfinished.map(({ receipt }) => receipt)).toEqual([erased.receipt])
    await expect.poll(() => app.app.restored.state(), { timeout: 60_000 }).toMatchObject({ missing: 0, unfinished: 1 })
    const me = await app.fetch('GET', '/v1/auth/me', { token: reader.token })
    expect(me.status, me.text).toBe(200)
    expect((await app.fetch('POST', '/v1/knowledge', { token: reader.token, body: trace() })).status).toBe(201)
    expect((await app.fetch('GET', '/v1/auth/me', { token: agent.token })).status).toBe(401)
    const late = await app.fetch('GET', `/v1/knowledge/${units[0]}`, { token: reader.token })
    expect(late.status, late.text).not.toBe(200)
    // The missing part of the erasure can be carried out later.
    await withConnection(app.ownerUrl, (owner) => owner.query('DROP TRIGGER keep ON units'))
    expect((await operator(app.app).replayErasures()).unfinished).toEqual([])
    expect(await app.app.restored.state()).toMatchObject({ missing: 0, unfinished: 0 })
  })

  it('lets an admin set a lost hold again before the replay', async () => {
    const app = await open(backup)
    const body = { kind: 'unit', target_id: erased.units[0], reason: 'a court asked for it' }
    expect((await app.fetch('POST', '/v1/holds', { token: erased.reader.token, body })).status).toBe(201)
    expect((await app.fetch('GET', `/v1/holds`, { token: erased.agent.token })).status).toBe(403)
  })

  it('runs only erasure jobs until the ledger is replayed', async () => {
    const app = await open(backup)
    const ran: string[][] = []
    const job = (name: string): RunnableJob => ({ name, cron: undefined, catchUp: 0, execute: async () => {} })
    const runner = await runJobsAfterReplay(
      async (jobs) => {
        ran.push(jobs.map(({ name }) => name))
        return { stop: async () => {} }
      },
      [job('erasure.step'), job('exports.prepare')],
      app.app.restored,
      20,
    )
    expect(ran).toEqual([['erasure.step']])
    await operator(app.app).replayErasures()
    await expect.poll(() => ran, { timeout: 60_000 }).toEqual([['erasure.step'], ['erasure.step', 'exports.prepare']])
    await runner.stop()
  })
})

it('a database that has every erasure of the ledger is served', async () => {
  const app = await open(present)
  expect(await served(app)).toEqual(erasedAll)
  expect(await app.app.restored.state()).toEqual({ missing: 0, unfinished: 0, alterations: 0, isCompared: true })
})
