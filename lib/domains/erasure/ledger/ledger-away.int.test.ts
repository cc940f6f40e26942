import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createApp } from '#lib/app.ts'
import { operator } from '#lib/operator/operator.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { drain } from '#lib/testing/jobs.ts'
import { issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'
import { trace } from '#lib/testing/units.ts'

let app: TestApp
let admin: Person
beforeAll(async () => {
  app = await testApp()
  admin = await signedIn(app, 'admin')
})
afterAll(() => app?.close())

const folder = () => join(app.dataDir, 'erasures')
const replay = () => operator(app.app).replayErasures()
/** Creates a unit of a new agent, with functions to erase it and to check that it exists. */
async function contributed() {
  const agent = await issuedAgent(app, ['read', 'write'])
  const made = await app.fetch('POST', '/v1/knowledge', { token: agent.token, body: trace() })
  const path = `/v1/knowledge/${made.json.data.id}`
  return {
    erase: () => app.fetch('DELETE', path, { token: agent.token }),
    isThere: async () => (await app.fetch('GET', path, { token: agent.token })).status === 200,
  }
}
const off = async () =>
  (await app.fetch('GET', '/api/stores', { cookie: admin.cookie })).json.data.stores.filter(
    ({ state }: { state: string }) => state === 'off',
  )

test.each(['no folder', 'an empty folder', 'another one’s folder'])(
  '%s in place of the ledger makes erasures and replays fail with unavailable',
  async (kind) => {
    const [before, waiting] = [await contributed(), await contributed()]
    expect((await before.erase()).status).toBe(204)
    const subject = await signedIn(app)
    const elsewhere = `${folder()}-elsewhere`
    renameSync(folder(), elsewhere)
    if (kind === 'an empty folder') mkdirSync(folder())
    if (kind === 'another one’s folder') {
      cpSync(elsewhere, folder(), { recursive: true })
      rmSync(join(folder(), 'folder.mark'))
    }
    app.clock.advance(60_000)

    expect((await waiting.erase()).json).toMatchObject({ status: 503, code: 'unavailable' })
    expect(await waiting.isThere()).toBe(true)
    await expect(replay()).rejects.toMatchObject({ code: 'unavailable' })
    expect(await off()).toMatchObject([{ name: 'ledger', address: `file:${folder()}`, holds: ['erasures'] }])
    const { runId } = await app.db.transaction((tx) =>
      app.app.subjectErasures.begin(tx, {
        requestId: null,
        subject: { account: subject.accountId, agents: [] },
        requestedBy: 'user:test',
        reason: 'user_request',
        now: app.clock.now(),
      }),
    )
    let rounds = 0
    await drain(app, { mayFail: true, until: () => rounds++ > 1 })
    expect(await app.db.prisma.account.count({ where: { id: subject.accountId } })).toBe(1)
    expect(existsSync(join(folder(), 'folder.mark'))).toBe(false)

    rmSync(folder(), { recursive: true, force: true })
    renameSync(elsewhere, folder())
    expect((await waiting.erase()).status).toBe(204)
    await drain(app, { mayFail: true })
    expect((await app.app.subjectErasures.run(runId))?.state).toBe('done')
    expect(await replay()).toMatchObject({ unknown: 0, unfinished: [], refused: [], unsearched: [] })
    expect(await off()).toEqual([])
  },
)

test('appending and replaying fail with unavailable when the ledger URL points to another, even missing, folder', async () => {
  const other = createApp({
    env: { ...app.app.env, KP_LEDGER_URL: `${folder()}-mistyped` },
    clock: app.clock,
  })
  try {
    await expect(operator(other).replayErasures()).rejects.toMatchObject({ code: 'unavailable' })
    await expect(
      other.ledger.append({ kind: 'commit', id: 'rcpt_x', at: app.clock.now().toISOString() }),
    ).rejects.toMatchObject({ code: 'unavailable' })
  } finally {
    await other.close()
  }
  expect(existsSync(`${folder()}-mistyped`)).toBe(false)
})

test('replay reports a damaged commit line as uncertain', async () => {
  const deleted = await contributed()
  expect((await deleted.erase()).status).toBe(204)
  const id = (await app.db.prisma.erasure.findFirstOrThrow({ orderBy: { deletedAt: 'desc' } })).receiptId
  const retained = await app.db.prisma.erasure.findUniqueOrThrow({ where: { receiptId: id } })
  const [name = ''] = readdirSync(folder()).filter((one) => one.endsWith('.ledger'))
  const file = join(folder(), name)
  const text = readFileSync(file, 'utf8')
  expect(await replay()).toMatchObject({ damaged: 0, uncertain: 0, unknown: 0 })
  writeFileSync(
    file,
    text
      .split('\n')
      .map((line) => (line.includes('"commit"') && line.includes(id) ? line.slice(0, -3) : line))
      .join('\n'),
  )
  // The database has the signed receipt, so the ledger should contain the commit.
  expect(await replay()).toMatchObject({ damaged: 1, unknown: 1 })
  // A backup from before the erasure does not know it.
  await app.db.prisma.erasure.delete({ where: { receiptId: id } })
  expect(await replay()).toMatchObject({ damaged: 1, uncertain: 1, unknown: 0 })
  writeFileSync(file, text)
  await app.db.prisma.erasure.create({
    data: {
      ...retained,
      plan: Object(retained.plan),
      ...(retained.receipt !== null && { receipt: Object(retained.receipt) }),
    },
  })
  expect(await replay()).toMatchObject({ damaged: 0, uncertain: 0, unknown: 0 })
  // Requests are rejected while the application still believes that the database lacks an erasure.
  await expect.poll(() => app.app.restored.state(), { timeout: 120_000 }).toMatchObject({ missing: 0 })
})

test('rows that somebody without the secret appends are reported, and nothing is erased or refused because of them', async () => {
  const victim = await issuedAgent(app, ['read', 'write'])
  const [name = ''] = readdirSync(folder()).filter((one) => one.endsWith('.ledger'))
  const file = join(folder(), name)
  const text = readFileSync(file, 'utf8')
  const at = new Date(app.clock.now().getTime() + 3_600_000).toISOString()
  const rows = [
    {
      kind: 'intent',
      id: 'rcpt_0123456789abcdefABCDEF',
      at,
      scope: { subject: { account: null, agents: [victim.id] } },
      hashes: [],
      heldBy: [],
    },
    { kind: 'commit', id: 'rcpt_0123456789abcdefABCDEF', at, erased: {} },
  ].map((row) => JSON.stringify(row))
  const lines = rows.map((row) => `${createHash('sha256').update(row).digest('hex').slice(0, 16)} ${row}\n`)
  writeFileSync(file, `${text}\n${lines.join('')}`)
  const other = createApp({ env: app.app.env, clock: app.clock, replaysByItself: true })
  try {
    expect(await other.restored.state()).toMatchObject({ missing: 0, unfinished: 0, alterations: 2 })
    expect(await operator(other).replayErasures()).toMatchObject({
      damaged: 2,
      subjects: 0,
      reinstated: 0,
      receipts: [],
    })
    expect((await other.ledger.inspect()).problems.map(({ kind }) => kind)).toEqual(['foreign', 'foreign'])
  } finally {
    await other.close()
  }
  expect((await app.fetch('GET', '/v1/auth/me', { token: victim.token })).status).toBe(200)
  expect((await app.fetch('GET', '/v1/receipts/rcpt_0123456789abcdefABCDEF', { token: victim.token })).status).toBe(404)
  await expect
    .poll(async () => (await app.fetch('GET', '/ready')).json.attention, { timeout: 120_000 })
    .toContain('ledger_altered')
  const ready = await app.fetch('GET', '/ready')
  expect([ready.status, ready.json.stores.ledger.state]).toEqual([200, 'degraded'])
  // Later rows of this installation are still acted on.
  expect((await (await contributed()).erase()).status).toBe(204)
  expect(await replay()).toMatchObject({ damaged: 2, unknown: 0 })
  writeFileSync(file, readFileSync(file, 'utf8').replace(lines.join(''), ''))
  expect(await replay()).toMatchObject({ damaged: 0, unknown: 0 })
})

test('erasures continue after an admin declares the ledger lost, and replay ignores earlier erasures', async () => {
  renameSync(folder(), `${folder()}-lost`)
  const next = await contributed()
  app.clock.advance(60_000)
  expect((await next.erase()).status).toBe(503)
  const [lost] = await off()
  const body = { statement: 'The disk with the ledger was destroyed by the provider.' }
  const path = `/api/stores/${lost.known_store_id}/retire`
  expect((await app.fetch('POST', path, { cookie: admin.cookie, body })).status).toBe(200)
  app.clock.advance(60_000)
  expect((await next.erase()).status).toBe(204)
  expect(await app.db.prisma.erasure.count()).toBeGreaterThan(1)
  expect(await replay()).toMatchObject({ committed: 1, unknown: 0 })
})
