import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { startEmbedded } from '#lib/stores/postgres/embedded.ts'
import { prepareDatabase } from '#lib/stores/postgres/preparation.ts'
import { testApp } from '#lib/testing/app.ts'
import { trace } from '#lib/testing/units.ts'

it('the database goes away in the middle: 503, nothing half-written, and it goes on by itself when the database is back', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'kp-outage-'))
  chmodSync(dataDir, 0o755) // the database's account has to pass
  let server = await startEmbedded(dataDir)
  const ownerUrl = server.ownerUrl('kp')
  const { appUrl } = await prepareDatabase({ ownerUrl, secret: 'of one test', mayCreateDatabase: true })
  const test = await testApp({}, { ownerUrl, appUrl, drop: async () => {} })
  try {
    const { id, token } = await test.agent()
    const acknowledged: string[] = []
    const refused: number[] = []
    let stop = false
    const writing = Promise.all(
      Array.from({ length: 4 }, async (_, writer) => {
        for (let n = 0; !stop && n < 6; n++) {
          const told = await test.fetch('POST', '/v1/knowledge', {
            token,
            body: trace({ id: `kp:trace:w${writer}-${n}` }),
          })
          if (told.status === 201) acknowledged.push(told.json.data.id)
          else refused.push(told.status)
          if (n === 2) await delay(300)
        }
      }),
    )
    await delay(150)
    process.kill(server.pid, 'SIGQUIT') // at once, as a crash is
    await server.exited
    // Whether the process lives does not hang on the database, nor on what was asked a moment ago.
    await delay(1_100)
    expect((await test.fetch('GET', '/health')).status).toBe(200)
    const down = await test.fetch('GET', '/v1/auth/me', { token })
    expect([down.status, down.json.code]).toEqual([503, 'unavailable'])
    expect(Number(down.headers.get('retry-after'))).toBeGreaterThan(0)
    const ready = await test.fetch('GET', '/ready')
    expect([ready.status, ready.json.stores.postgresql.state]).toEqual([503, 'down'])
    expect((await test.fetch('GET', '/health')).status).toBe(200)
    stop = true
    await writing
    expect(new Set(refused)).toEqual(new Set(refused.length > 0 ? [503] : []))
    await server.stop()
    server = await startEmbedded(dataDir)

    expect((await test.fetch('GET', '/ready')).status).toBe(200)
    expect((await test.fetch('POST', '/v1/knowledge', { token, body: trace() })).status).toBe(201)
    const stored = (await test.db.prisma.unit.findMany({ where: { agentId: id }, select: { id: true } })).map(
      (unit) => unit.id,
    )
    expect(stored).toEqual(expect.arrayContaining(acknowledged))
    const audited = (
      await test.db.prisma.auditEntry.findMany({ where: { agentId: id, action: 'create', resourceType: 'knowledge' } })
    ).map(({ resourceId }) => resourceId)
    expect(audited.sort()).toEqual(stored.sort())
  } finally {
    await test.close()
    await server.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
})
