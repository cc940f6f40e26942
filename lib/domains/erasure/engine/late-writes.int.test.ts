import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '#lib/kernel/ids.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { issuedAgent, signedIn } from '#lib/testing/people.ts'
import { trace } from '#lib/testing/units.ts'

let app: TestApp
let unit: string
beforeAll(async () => {
  app = await testApp()
  const author = await issuedAgent(app, ['read', 'write'])
  unit = (await app.fetch('POST', '/v1/knowledge', { token: author.token, body: trace() })).json.data.id
})
afterAll(() => app?.close())

interface Write {
  sql: string
  values: (who: string) => unknown[]
}
const at = () => app.clock.now()
const writes: Record<string, Write> = {
  'a vote': {
    sql: 'INSERT INTO unit_votes (unit_id, voter_id, owner_key, valid, weight, at) VALUES ($1, $2, $3, true, 0, $4)',
    values: (who) => [unit, who, newId('key'), at()],
  },
  'a report': {
    sql: "INSERT INTO unit_reports (unit_id, reporter_id, owner_key, reason, at) VALUES ($1, $2, $3, 'x', $4)",
    values: (who) => [unit, who, newId('key'), at()],
  },
  'a refusal': {
    sql: "INSERT INTO content_rejections (id, agent_id, stage, at) VALUES ($1, $2, 'x', $3)",
    values: (who) => [newId('rej'), who, at()],
  },
  'a note of an export': {
    sql: "INSERT INTO export_runs (id, subject_id, agent_id, requested_by, format, basis, at) VALUES ($1, $2, $2, 'x', 'json', 'all', $3)",
    values: (who) => [newId('exp'), who, at()],
  },
}
const ofPeople: Record<string, Write> = {
  'a report': writes['a report'] as Write,
  'a refusal': writes['a refusal'] as Write,
  'a note of an export': {
    sql: "INSERT INTO export_runs (id, subject_id, subject_kind, requested_by, format, basis, at) VALUES ($1, $2, 'account', 'x', 'zip', 'all', $3)",
    values: (who) => [newId('exp'), who.replace('user:', ''), at()],
  },
  'a prepared export': {
    sql: "INSERT INTO prepared_exports (id, account_id, basis, created_at) VALUES ($1, $2, 'all', $3)",
    values: (who) => [newId('exp'), who.replace('user:', ''), at()],
  },
}
const fenced = expect.objectContaining({ code: 'KP423' })
const write = ({ sql, values }: Write, who: string) => app.db.pool.query(sql, values(who))
const erase = async (id: string) => {
  await app.db.pool.query('DELETE FROM tokens WHERE agent_id = $1', [id])
  await app.db.pool.query('DELETE FROM agents WHERE id = $1', [id])
}

describe.each(Object.entries(writes))('%s of an agent', (_, one) => {
  test('is stored while the agent exists, and rejected when the agent is fenced or deleted', async () => {
    const { id } = await issuedAgent(app, ['read', 'write'])
    await write(one, id)
    const fence = { kind: 'agent', id, runId: 'run_of_this_test', raisedAt: at() }
    await app.db.prisma.writeFence.create({ data: fence })
    const { id: other } = await issuedAgent(app, ['read'])
    await expect(write(one, id)).rejects.toEqual(fenced)
    await write(one, other)
    await app.db.pool.query('DELETE FROM unit_votes WHERE voter_id = $1', [id])
    await erase(id)
    await app.db.prisma.writeFence.deleteMany({ where: { id } })
    await expect(write(one, id)).rejects.toEqual(fenced)
  })

  test('blocks the fence until its transaction ends, and is rejected when it follows the deletion of the agent', async () => {
    const { id } = await issuedAgent(app, ['read', 'write'])
    const early = await app.db.pool.connect()
    const late = await app.db.pool.connect()
    const fencing = await app.db.pool.connect()
    try {
      for (const client of [early, late]) await client.query('BEGIN')
      await late.query('SELECT 1 FROM agents WHERE id = $1', [id])
      await early.query(one.sql, one.values(id))
      await fencing.query('BEGIN')
      const seized = fencing.query('SELECT 1 FROM agents WHERE id = $1 FOR UPDATE NOWAIT', [id])
      await expect(seized).rejects.toEqual(expect.objectContaining({ code: '55P03' }))
      await fencing.query('ROLLBACK')
      await early.query('COMMIT')
      await erase(id)
      await expect(late.query(one.sql, one.values(id))).rejects.toEqual(fenced)
    } finally {
      for (const client of [early, late, fencing]) {
        await client.query('ROLLBACK')
        client.release()
      }
    }
  })
})

test.each(Object.entries(ofPeople))('%s of a deleted person is rejected', async (_, one) => {
  const { accountId } = await signedIn(app)
  await write(one, `user:${accountId}`)
  await app.db.pool.query('DELETE FROM sessions WHERE account_id = $1', [accountId])
  await app.db.pool.query('DELETE FROM accounts WHERE id = $1', [accountId])
  await expect(write(one, `user:${accountId}`)).rejects.toEqual(fenced)
})

test('an export run about a name without an agent is stored', async () => {
  const sql =
    "INSERT INTO export_runs (id, subject_id, requested_by, format, basis, at) VALUES ($1, $2, 'x', 'json', 'all', $3)"
  const { rowCount } = await app.db.pool.query(sql, [newId('exp'), 'Somebody named', at()])
  expect(rowCount).toBe(1)
})
