// A complete restore drill, from the backup to the search that finds nothing. It covers all domains.
import { cpSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { normaliseEmail } from '#lib/domains/accounts/rules.ts'
import { verifyReceipt } from '#lib/domains/erasure/receipts/signing.ts'
import { newId } from '#lib/kernel/ids.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { backupOf } from '#lib/testing/backup.ts'
import { commandLine } from '#lib/testing/command-line.ts'
import type { TestDatabase } from '#lib/testing/database.ts'
import { drain } from '#lib/testing/jobs.ts'
import { locationCountsIn } from '#lib/testing/outcome.ts'
import { issuedAgent } from '#lib/testing/people.ts'
import { type MadeSubject, madeSubject, notifiedOf, openTestSession } from '#lib/testing/subjects.ts'
import { trace } from '#lib/testing/units.ts'

const folder = mkdtempSync(join(tmpdir(), 'kp-drill-'))
/** Outside the backed-up folder, as an operator must configure it. */
const ledger = join(folder, 'ledger')
/** Jobs of the subject that never become due. */
const except = ['accounts.notify', 'knowledge.novelty']
/**
 * Tables that may contain ids of erased subjects, and nothing else about them: receipts, logs and the ledger prove the
 * erasure, and pages list items that are searched for again a day later in stores with other writers.
 */
const proofs = ['audit_entries', 'deletion_audit_log', 'erasures', 'erased_ids', 'erasure_pages']

interface Backup {
  database: TestDatabase
  var: string
}
/** Backs up the database and `var`. The server copies the database files, because the embedded PostgreSQL has no pg_dump. */
async function backup(test: TestApp, name: string): Promise<Backup> {
  const copied = join(folder, name)
  cpSync(test.dataDir, copied, { recursive: true })
  return { database: await backupOf({ ownerUrl: test.ownerUrl, env: test.app.env }), var: copied }
}

let test: TestApp
let subject: MadeSubject
let receiptId: string
let early: Backup
let late: Backup
let anew: { accountId: string; unit: string; agent: string }
const running: TestApp[] = []
beforeAll(async () => {
  test = await testApp({ KP_LEDGER_URL: ledger })
  running.push(test)
  subject = await madeSubject(test)
  early = await backup(test, 'early')
  const { id } = await notifiedOf(test, 'POST', '/api/privacy/requests', {
    cookie: subject.cookie,
    body: { kinds: ['erasure'], grace: 'now', password: subject.password },
  })
  await drain(test, { except })
  const request = await test.db.prisma.privacyRequest.findUniqueOrThrow({ where: { id } })
  expect(request.state).toBe('completed')
  receiptId = request.receiptId ?? ''
  test.clock.advance(60_000)
  anew = await registeredAnew(test)
  late = await backup(test, 'late')
}, 600_000)
afterAll(async () => {
  for (const app of running) await app.close()
  rmSync(folder, { recursive: true, force: true })
})

/** The person registers again with the same address, and gets a new account, an agent and a unit. */
async function registeredAnew({ app, clock, ...rest }: TestApp) {
  const now = clock.now()
  const accountId = await app.db.transaction(async (tx) => {
    const { id } = await tx.organisation.create({ data: { id: newId('org'), name: 'Anew', createdAt: now } })
    return app.accounts.create(tx, {
      organisationId: id,
      email: subject.email,
      name: 'Anew',
      role: 'person',
      now,
      password: newId('password'),
      mustChangePassword: false,
    })
  })
  const owner = { accountId, organisationId: await organisationOf(accountId, app), cookie: '' }
  const self = { app, clock, ...rest }
  const agent = await issuedAgent(self, ['read', 'write'], { tier: 'enterprise', owner })
  const { id } = await notifiedOf(self, 'POST', '/v1/knowledge', {
    token: agent.token,
    body: trace({ task: { objective: 'Begun anew' } }),
  })
  return { accountId, unit: id, agent: agent.id }
}
const organisationOf = async (id: string, app: TestApp['app']): Promise<string> =>
  (await app.db.prisma.account.findUniqueOrThrow({ where: { id } })).organisationId

/** Starts the backup as an installation, with the current ledger. */
async function restore({ database, var: dataDir }: Backup): Promise<TestApp> {
  const restored = await testApp({ KP_LEDGER_URL: ledger, KP_DATA_DIR: dataDir }, database)
  running.push(restored)
  return Object.assign(restored, { dataDir })
}
async function replay(restored: TestApp) {
  const line = commandLine(restored.url)
  try {
    const { DATABASE_URL = '', KP_DATA_DIR, KP_SECRET = '' } = restored.app.env
    const { status, err, json } = await line.run(['erasures', 'replay', '--json'], {
      env: { DATABASE_URL, KP_DATA_DIR, KP_SECRET, KP_LEDGER_URL: ledger },
    })
    expect(err).toBe('')
    expect(status).toBe(0)
    return json.data
  } finally {
    line.close()
  }
}
const searched = async (at: TestApp, cookie: string, words: string): Promise<number> =>
  (await at.fetch('GET', `/v1/knowledge?q=${words}&limit=1`, { cookie })).json.total
/** The export files. They are compressed, so a text search cannot find their content. */
const exportsIn = ({ dataDir }: TestApp): string[] =>
  readdirSync(join(dataDir, 'exports')).filter((name) => name !== 'folder.mark')
const stored = ({ ownerUrl, dataDir }: TestApp) => ({ ownerUrl, dataDir })

/** Expects no erased content anywhere, and erased ids only in the permitted tables. */
async function expectNothing(at: TestApp): Promise<void> {
  expect(await locationCountsIn(stored(at), [subject.marker]), 'words').toEqual({})
  const ids = [subject.accountId, ...subject.agents.map(({ id }) => id), ...subject.units, ...subject.skills]
  for (const place of Object.keys(await locationCountsIn(stored(at), ids))) expect(proofs).toContain(place)
  for (const id of [...subject.units, ...subject.skills]) {
    const path = id.startsWith('kp:skill:') ? `/v1/skills/${id}` : `/v1/knowledge/${id}`
    expect([404, 410]).toContain((await at.fetch('GET', path, { token: subject.neighbour.agent.token })).status)
  }
  expect(exportsIn(at)).toEqual([])
}
async function expectReceipt(at: TestApp): Promise<void> {
  const { status, json } = await at.fetch('GET', `/v1/receipts/${receiptId}`)
  expect(status).toBe(200)
  expect(json).toMatchObject({ receipt_id: receiptId, deleted_id: subject.accountId })
  expect(await verifyReceipt(json, await at.app.signer.keys())).toHaveProperty('kid')
}

describe('a restore of the database and the folder var with a separate ledger', () => {
  it('starts from an original installation that contains nothing of the erased subject', async () => {
    // Only the new account, and emails about the request itself: without a mail server they are stored in the folder.
    expect(Object.keys(await locationCountsIn(stored(test), [subject.email])).sort()).toEqual(['accounts', 'mail/'])
    await expectNothing(test)
    await expectReceipt(test)
  })

  it('of a backup before the erasure brings the data back, and the replay erases it again and keeps newer data', async () => {
    const restored = await restore(early)
    expect(Object.keys(await locationCountsIn(stored(restored), [subject.marker]))).toEqual(
      expect.arrayContaining(['units', 'skills', 'accounts', 'mail/', 'search_words']),
    )
    expect(exportsIn(restored)).toHaveLength(1)
    const cookie = await openTestSession(restored, subject.accountId)
    // While the ledger is unavailable, the neighbour and the erased person continue to write.
    renameSync(ledger, `${ledger}-away`)
    expect(await searched(restored, cookie, subject.marker)).toBeGreaterThan(0)
    const { neighbour } = subject
    const since = await notifiedOf(restored, 'POST', '/v1/knowledge', { token: neighbour.agent.token, body: trace() })
    const owner = { accountId: subject.accountId, organisationId: subject.organisationId, cookie }
    const agent = await issuedAgent(restored, ['read', 'write'], { tier: 'enterprise', owner })
    const said = await notifiedOf(restored, 'POST', '/v1/knowledge', { token: agent.token, body: trace() })

    rmSync(ledger, { recursive: true, force: true })
    renameSync(`${ledger}-away`, ledger)

    const report = await replay(restored)
    expect(report).toMatchObject({ subjects: 1, damaged: 0, refused: [], unfinished: [] })
    await drain(restored, { except })

    await expectNothing(restored)
    expect(await locationCountsIn(stored(restored), [subject.email])).toEqual({})
    await expectReceipt(restored)
    const reader = await openTestSession(restored, neighbour.person.accountId)
    expect(await searched(restored, reader, subject.marker)).toBe(0)
    for (const id of [since.id, said.id, ...Object.values(neighbour.units)])
      expect((await restored.fetch('GET', `/v1/knowledge/${id}`, { token: neighbour.agent.token })).status).toBe(200)
    expect(await restored.db.prisma.agent.findUnique({ where: { id: agent.id } })).toMatchObject({ ownerId: null })
    // A restored id cannot be reused, and the agent's id cannot be registered again.
    const [first] = subject.agents
    const taken = await restored.fetch('POST', '/v1/auth/register', { body: { agent_id: first?.id, scopes: ['read'] } })
    expect(taken.json).toMatchObject({ code: 'id_in_use' })

    expect(await replay(restored)).toMatchObject({ erased: 0, subjects: 0, reinstated: 0, receipts: [] })
  }, 600_000)

  it('of a backup after the erasure erases nothing, and a person who registered again keeps address, agent and units', async () => {
    const restored = await restore(late)
    expect(await replay(restored)).toMatchObject({ erased: 0, subjects: 0, receipts: [] })
    await expectNothing(restored)
    await expectReceipt(restored)
    const { email } = await restored.db.prisma.account.findUniqueOrThrow({ where: { id: anew.accountId } })
    expect(email).toBe(normaliseEmail(subject.email))
    const cookie = await openTestSession(restored, anew.accountId)
    expect((await restored.fetch('GET', `/v1/knowledge/${anew.unit}`, { cookie })).status).toBe(200)
    expect(await restored.db.prisma.agent.findUnique({ where: { id: anew.agent } })).toMatchObject({
      ownerId: anew.accountId,
    })
  })
})
