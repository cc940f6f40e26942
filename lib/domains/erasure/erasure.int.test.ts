import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { verifyReceipt } from '#lib/domains/erasure/receipts/signing.ts'
import { operator } from '#lib/operator/operator.ts'
import type { LedgerRow } from '#lib/stores/ledger/ledger.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { trace } from '#lib/testing/units.ts'

let test: TestApp
beforeAll(async () => {
  test = await testApp({ KP_BACKUP_DAYS: '30' })
})
afterAll(() => test.close())

const ledgerOf = async (receiptId: string): Promise<LedgerRow[]> =>
  (await Array.fromAsync(test.app.ledger.read())).filter(({ id }) => id === receiptId)
const contributed = async (): Promise<{ id: string; agent: { id: string; token: string } }> => {
  const agent = await test.agent()
  const { json } = await test.fetch('POST', '/v1/knowledge', { token: agent.token, body: trace() })
  return { id: json.data.id, agent }
}
const job = (name: string) => {
  const found = test.app.jobs.find((one) => one.name === name)
  if (!found) throw new Error(`no job ${name}`)
  return found
}
/** Simulates a crash right after the commit: the unit is deleted, but its erasure is neither verified nor signed. */
const halfErased = async (id: string, owner: string): Promise<string> =>
  test.app.pipeline.transaction((tx) =>
    test.app.erasures.begin(tx, {
      scope: { unit: id },
      formerOwner: owner,
      requestedBy: owner,
      reason: 'user_request',
      wasPublic: false,
      now: test.clock.now(),
    }),
  )

describe('the erasure ledger', () => {
  it('contains the intent with ids before the deletion and the commit after it, without content or names', async () => {
    const { id, agent } = await contributed()
    const response = await test.fetch('DELETE', `/v1/knowledge/${id}`, { token: agent.token })
    const rows = await ledgerOf(response.headers.get('x-deletion-receipt') ?? '')
    expect(rows.map(({ kind }) => kind)).toEqual(['intent', 'commit'])
    expect(rows[0]).toMatchObject({ scope: { unit: id }, plan: { 'knowledge.units': [id] } })
    expect(JSON.stringify(rows)).not.toContain('build is slow')
  })

  it('erasing a unit returns 503 and deletes nothing when the ledger is not writable', async () => {
    const own = await testApp()
    try {
      const { token } = await own.agent()
      const { json } = await own.fetch('POST', '/v1/knowledge', { token, body: trace() })
      // A file instead of the folder: also stops root, unlike missing permissions.
      writeFileSync(join(own.dataDir, 'erasures'), '')
      const response = await own.fetch('DELETE', `/v1/knowledge/${json.data.id}`, { token })
      expect(response.status).toBe(503)
      expect((await own.fetch('GET', `/v1/knowledge/${json.data.id}`, { token })).status).toBe(200)
      expect(await own.db.prisma.deletionAuditEntry.count()).toBe(0)
      rmSync(join(own.dataDir, 'erasures'))
      mkdirSync(join(own.dataDir, 'erasures'))
      chmodSync(join(own.dataDir, 'erasures'), 0o700)
      expect((await own.fetch('DELETE', `/v1/knowledge/${json.data.id}`, { token })).status).toBe(204)
    } finally {
      await own.close()
    }
  })
})

describe('erasure after a crash', () => {
  it('the worker verifies and signs the receipt once when the crash was between commit and signature', async () => {
    const { id, agent } = await contributed()
    const receiptId = await halfErased(id, agent.id)
    expect((await ledgerOf(receiptId)).map(({ kind }) => kind)).toEqual(['intent'])
    const waiting = await test.db.pool.query('SELECT 1 FROM graphile_worker.jobs WHERE key = $1', [
      `erasure.finish:${receiptId}`,
    ])
    expect(waiting.rowCount).toBe(1)
    await job('erasure.finish').execute(test.app.pipeline, { receiptId })
    const first = await test.fetch('GET', `/v1/receipts/${receiptId}`)
    await job('erasure.finish').execute(test.app.pipeline, { receiptId })
    const second = await test.fetch('GET', `/v1/receipts/${receiptId}`)
    expect(first.json).toEqual(second.json)
    expect(await verifyReceipt(first.json, await test.app.signer.keys())).toHaveProperty('kid')
    expect((await ledgerOf(receiptId)).map(({ kind }) => kind)).toEqual(['intent', 'commit'])
    expect(
      (await test.db.pool.query('SELECT 1 FROM graphile_worker.jobs WHERE key = $1', [`erasure.finish:${receiptId}`]))
        .rowCount,
    ).toBe(0)
  })

  it('reading a receipt finishes the erasure when the worker has not run yet', async () => {
    const { id, agent } = await contributed()
    const receiptId = await halfErased(id, agent.id)
    const response = await test.fetch('GET', `/v1/receipts/${receiptId}`)
    expect([response.status, response.json.deleted_id]).toEqual([200, id])
  })

  it('a crash before the commit deletes nothing and leaves an intent without a commit', async () => {
    const { id, agent } = await contributed()
    let receiptId = ''
    await expect(
      test.app.pipeline.transaction(async (tx) => {
        receiptId = await test.app.erasures.begin(tx, {
          scope: { unit: id },
          formerOwner: agent.id,
          requestedBy: agent.id,
          reason: 'user_request',
          wasPublic: false,
          now: test.clock.now(),
        })
        throw new Error('crash')
      }),
    ).rejects.toThrow('crash')
    expect((await test.fetch('GET', `/v1/knowledge/${id}`, { token: agent.token })).status).toBe(200)
    expect((await ledgerOf(receiptId)).map(({ kind }) => kind)).toEqual(['intent'])
    expect((await test.fetch('GET', `/v1/receipts/${receiptId}`)).status).toBe(404)
  })
})

describe('replay after a restored backup', () => {
  const forget = async (receiptId: string, id: string) => {
    await test.db.prisma.erasure.deleteMany({ where: { receiptId } })
    await test.db.prisma.erasedId.deleteMany({ where: { id } })
  }
  /** Replays, and waits until the application notices: it serves nothing while an erasure of the ledger is missing. */
  const replayed = async () => {
    const replay = await operator(test.app).replayErasures()
    await expect.poll(() => test.app.restored.state(), { timeout: 120_000 }).toMatchObject({ missing: 0 })
    return replay
  }

  it('restores the receipt and the erased id when the backup has neither the unit nor its erasure', async () => {
    const { id, agent } = await contributed()
    const response = await test.fetch('DELETE', `/v1/knowledge/${id}`, { token: agent.token })
    const receiptId = response.headers.get('x-deletion-receipt') ?? ''
    await forget(receiptId, id)
    expect(await replayed()).toMatchObject({ erased: 0, reinstated: 1, damaged: 0 })
    // Others could have copied the unit, so its tombstone is published again.
    expect((await test.db.prisma.erasedId.findUniqueOrThrow({ where: { id } })).wasPublic).toBe(true)
    const again = await test.fetch('POST', '/v1/knowledge', { token: agent.token, body: trace({ id }) })
    expect([again.status, again.json.code]).toEqual([410, 'erased'])
    expect((await test.fetch('GET', `/v1/receipts/${receiptId}`)).json).toMatchObject({
      deleted_id: id,
      reason: 'replay',
    })
    expect((await replayed()).reinstated).toBe(0)
  })

  it('erases a restored unit again and keeps units that were created later', async () => {
    const { id, agent } = await contributed()
    const response = await test.fetch('DELETE', `/v1/knowledge/${id}`, { token: agent.token })
    const receiptId = response.headers.get('x-deletion-receipt') ?? ''
    const fresh = await test.fetch('POST', '/v1/knowledge', { token: agent.token, body: trace() })
    await forget(receiptId, id)
    const { organisationId } = await test.db.prisma.agent.findUniqueOrThrow({ where: { id: agent.id } })
    const row = {
      type: 'ReasoningTrace',
      agentId: agent.id,
      organisationId,
      visibility: 'private',
      qualityScore: 0,
      domain: 'code',
      updatedAt: new Date(),
    } as const
    await test.db.prisma.unit.create({
      data: { ...row, id, document: { id }, createdAt: new Date(test.clock.now().getTime() - 60_000) },
    })
    expect(await replayed()).toMatchObject({ erased: 1, reinstated: 1 })
    expect(await test.db.prisma.unit.count({ where: { id } })).toBe(0)
    expect((await test.fetch('GET', `/v1/knowledge/${fresh.json.data.id}`, { token: agent.token })).status).toBe(200)
  })
})

describe('the worker', () => {
  it('finishes an erasure whose own job was lost', async () => {
    const { id, agent } = await contributed()
    const receiptId = await halfErased(id, agent.id)
    await test.db.pool.query('SELECT graphile_worker.remove_job($1)', [`erasure.finish:${receiptId}`])
    test.clock.advance(11 * 60_000)
    await job('erasure.resume').execute(test.app.pipeline, {})
    expect((await test.db.prisma.erasure.findUniqueOrThrow({ where: { receiptId } })).state).toBe('signed')
  })
})

describe('an erasure that an earlier version began', () => {
  it('is verified and signed by the job that it enqueued', async () => {
    const { id, agent } = await contributed()
    const receiptId = await halfErased(id, agent.id)
    // Earlier versions listed data sources in another order, and some that no longer exist.
    await test.db.prisma.erasure.update({
      where: { receiptId },
      data: {
        plan: {
          'knowledge.units': { items: [id], deleted: 1 },
          'knowledge.words': { items: [id], deleted: 1 },
          'knowledge.former': { items: [], deleted: 0 },
        },
      },
    })
    await job('erasure.finish').execute(test.app.pipeline, { receiptId })
    const { json } = await test.fetch('GET', `/v1/receipts/${receiptId}`)
    expect(json.stores).toMatchObject([
      { holder: 'knowledge.words', found: 1, deleted: 1, residue: 0 },
      { holder: 'knowledge.units', found: 1, deleted: 1, residue: 0 },
    ])
    expect(await verifyReceipt(json, await test.app.signer.keys())).toHaveProperty('kid')
  })
})

describe('verification', () => {
  it('rejects with unavailable while another document contains the erased id', async () => {
    const { id, agent } = await contributed()
    const receiptId = await halfErased(id, agent.id)
    // Simulates a row that is restored past the trigger that rejects erased ids.
    const { organisationId } = await test.db.prisma.agent.findUniqueOrThrow({ where: { id: agent.id } })
    const other = 'kp:trace:copy'
    await test.db.prisma.unit.create({
      data: {
        id: other,
        type: 'ReasoningTrace',
        agentId: agent.id,
        organisationId,
        visibility: 'private',
        document: { id },
        qualityScore: 0,
        domain: 'code',
        createdAt: new Date(),
        updatedAt: new Date(),
      },
    })
    await expect(test.app.erasures.finish(receiptId)).rejects.toMatchObject({ code: 'unavailable' })
    expect((await test.db.prisma.erasure.findUniqueOrThrow({ where: { receiptId } })).state).toBe('committed')
    await test.db.prisma.unit.delete({ where: { id: other } })
    expect((await test.app.erasures.finish(receiptId)).receipt_id).toBe(receiptId)
  })
})

describe('finish', () => {
  it('withdraws a stored response that named the unit after the plan', async () => {
    const { id, agent } = await contributed()
    const receiptId = await halfErased(id, agent.id)
    const late = { scope: 'token:late', key: 'late' }
    await test.db.prisma.idempotencyRecord.create({
      data: {
        ...late,
        requestHash: new Uint8Array([1]),
        createdAt: test.clock.now(),
        resourceId: 'list',
        status: 200,
        body: { data: [{ id }] },
        headers: {},
        ids: [id],
      },
    })
    expect((await test.app.erasures.finish(receiptId)).receipt_id).toBe(receiptId)
    const stored = await test.db.prisma.idempotencyRecord.findUniqueOrThrow({ where: { scope_key: late } })
    expect([stored.body, stored.ids]).toEqual([null, []])
  })

  it('returns the same receipt for concurrent calls', async () => {
    const { id, agent } = await contributed()
    const receiptId = await halfErased(id, agent.id)
    const finished = await Promise.all(Array.from({ length: 5 }, () => test.app.erasures.finish(receiptId)))
    expect(new Set(finished.map(({ jws }) => jws)).size).toBe(1)
  })

  it('erases a restored row with a planned id again before it signs the receipt', async () => {
    const { id, agent } = await contributed()
    const receiptId = await halfErased(id, agent.id)
    const { organisationId } = await test.db.prisma.agent.findUniqueOrThrow({ where: { id: agent.id } })
    const tombstone = await test.db.prisma.erasedId.delete({ where: { id } })
    await test.db.prisma.unit.create({
      data: {
        id,
        type: 'ReasoningTrace',
        agentId: agent.id,
        organisationId,
        visibility: 'network',
        document: { id },
        qualityScore: 0,
        domain: 'code',
        createdAt: new Date(),
        updatedAt: new Date(),
      },
    })
    await test.db.prisma.erasedId.create({ data: tombstone })
    const receipt = await test.app.erasures.finish(receiptId)
    expect(new Set(receipt.stores.map(({ residue }) => residue))).toEqual(new Set([0]))
    expect(await test.db.prisma.unit.count({ where: { id } })).toBe(0)
  })
})

describe('receipts', () => {
  it('list retained records and physical copies with dates', async () => {
    const { id, agent } = await contributed()
    const { json } = await test.fetch('DELETE', `/v1/knowledge/${id}`, {
      token: agent.token,
      headers: { Prefer: 'return=representation' },
    })
    const at = Date.parse(json.deleted_at)
    expect(json.retained.map(({ until }: { until: string | null }) => until)).toContain(
      new Date(at + 90 * 86_400_000).toISOString(),
    )
    expect(json.physical).toEqual(
      expect.arrayContaining([expect.objectContaining({ until: new Date(at + 30 * 86_400_000).toISOString() })]),
    )
  })

  it('verify after a key rotation, and new receipts are signed with the new key', async () => {
    const before = await contributed()
    const old = await test.fetch('DELETE', `/v1/knowledge/${before.id}`, {
      token: before.agent.token,
      headers: { Prefer: 'return=representation' },
    })
    const kid = await test.app.signer.rotate(new Date())
    const after = await contributed()
    const fresh = await test.fetch('DELETE', `/v1/knowledge/${after.id}`, {
      token: after.agent.token,
      headers: { Prefer: 'return=representation' },
    })
    const keys = await test.app.signer.keys()
    expect(await verifyReceipt(fresh.json, keys)).toEqual({ kid })
    const decision = await verifyReceipt(old.json, keys)
    expect(decision).toHaveProperty('kid')
    expect(decision).not.toEqual({ kid })
  })

  it('GET /v1/receipts/{id} returns 404 for an unknown id and 422 for a malformed id', async () => {
    expect((await test.fetch('GET', `/v1/receipts/rcpt_${'0'.repeat(22)}`)).status).toBe(404)
    expect((await test.fetch('GET', '/v1/receipts/1')).status).toBe(422)
  })

  it('the deletion log contains ids and counts, and the application role cannot change or delete entries', async () => {
    const { id, agent } = await contributed()
    await test.fetch('DELETE', `/v1/knowledge/${id}`, { token: agent.token })
    const entry = await test.db.prisma.deletionAuditEntry.findFirstOrThrow({
      where: { scope: { path: ['unit'], equals: id } },
    })
    expect(entry).toMatchObject({ requestedBy: agent.id, reason: 'user_request', results: { 'knowledge.units': 1 } })
    for (const sql of [
      'UPDATE deletion_audit_log SET reason = $1',
      'DELETE FROM deletion_audit_log WHERE reason = $1',
      'TRUNCATE deletion_audit_log',
    ])
      await expect(test.db.pool.query(sql, sql.startsWith('TRUNCATE') ? [] : ['x'])).rejects.toMatchObject({
        code: '42501',
      })
  })
})
