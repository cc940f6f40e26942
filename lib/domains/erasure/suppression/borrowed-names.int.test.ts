import { afterAll, beforeAll, expect, test } from 'vitest'
import { enqueue } from '#lib/jobs/queue.ts'
import { newId } from '#lib/kernel/ids.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { drain } from '#lib/testing/jobs.ts'
import { type Issued, issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'

let app: TestApp
let victim: Person
beforeAll(async () => {
  app = await testApp()
  victim = await signedIn(app)
})
afterAll(() => app?.close())

const rows = async (sql: string, ...values: unknown[]) => (await app.db.pool.query(sql, values)).rows
/** Creates an agent with any name, as old versions allowed. */
async function called(name: string): Promise<Issued> {
  const agent = await issuedAgent(app, ['read', 'write'])
  await rows('UPDATE agents SET id = $2 WHERE id = $1', agent.id, name)
  return { ...agent, id: name }
}

/** Creates jobs, export runs and idempotency records of others that contain words which an agent may have as its name. */
async function furnish(): Promise<() => Promise<unknown[]>> {
  const now = app.clock.now()
  const { accountId } = victim
  const run = newId('run')
  const ids = [newId('exp'), newId('exp')]
  const keys = [newId('key'), newId('key'), newId('key')]
  await app.db.transaction(async (tx) => {
    for (const name of ['erasure.start', 'erasure.verify', 'exports.prepare'])
      await enqueue(tx, name, { runId: run }, { key: `${name}:${run}` })
    // Failed permanently: the jobs exist, but no worker runs them.
    await tx.$executeRaw`UPDATE graphile_worker._private_jobs SET attempts = max_attempts WHERE key LIKE ${`%:${run}`}`
    await tx.exportRun.createMany({
      data: [
        {
          id: ids[0] ?? '',
          subjectId: accountId,
          subjectKind: 'account',
          requestedBy: 'system:privacy.request',
        },
        { id: ids[1] ?? '', subjectId: accountId, subjectKind: 'account', requestedBy: 'system:erased' },
      ].map((one) => ({ ...one, format: 'zip', basis: 'all', at: now })),
    })
    for (const [index, resourceId] of ['bulk', 'list', accountId].entries())
      await tx.idempotencyRecord.create({
        data: {
          scope: `account:${accountId}`,
          key: keys[index] ?? '',
          requestHash: new Uint8Array([1]),
          createdAt: now,
          status: 200,
          body: { data: { agent_id: null } },
          headers: {},
          ids: [],
          resourceId,
        },
      })
  })
  return async () => [
    await rows('SELECT key FROM graphile_worker._private_jobs WHERE key LIKE $1 ORDER BY key', `%:${run}`),
    await rows('SELECT id, requested_by FROM export_runs WHERE id = ANY($1) ORDER BY id', ids),
    await rows('SELECT key, status, body FROM idempotency_records WHERE key = ANY($1) ORDER BY key', keys),
  ]
}

test.each([
  'erasure.start',
  'erasure.verify',
  'exports.prepare',
  'queue.jobs',
  'erased',
  'bulk',
  'list',
  'subject',
  'nobody',
  'the victim’s id',
])('erasure of an agent named %s completes and keeps all data of others', async (word) => {
  const name = word.startsWith('the') ? victim.accountId : word
  const look = await furnish()
  const before = await look()
  expect(before.map((part) => (part as unknown[]).length)).toEqual([3, 2, 3])
  const { token } = await called(name)
  const shown = await app.fetch('GET', `/v1/export/${name}`, { token })
  expect([shown.status, shown.json.export_runs]).toMatchObject([200, [{ requested_by: 'itself' }]])
  const asked = await app.fetch('POST', '/api/privacy/requests', { token, body: { kinds: ['erasure'], grace: 'now' } })
  expect(asked.json.data.state).toBe('running')
  await drain(app)
  const [run] = await rows('SELECT state, receipt_id FROM erasure_runs WHERE request_id = $1', asked.json.data.id)
  expect(run?.state).toBe('done')
  const receipt = await app.fetch('GET', `/v1/receipts/${run?.receipt_id}`)
  expect(receipt.json).toMatchObject({ deleted_id: name, subject_kind: 'agent' })
  expect(await look()).toEqual(before)
  expect(await rows('SELECT 1 FROM agents WHERE id = $1', name)).toEqual([])
  expect(await rows('SELECT 1 FROM accounts WHERE id = $1', victim.accountId)).toHaveLength(1)
  await rows('DELETE FROM graphile_worker._private_jobs')
})
