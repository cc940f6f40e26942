import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { startEmbedded } from '#lib/stores/postgres/embedded.ts'
import { prepareDatabase } from '#lib/stores/postgres/preparation.ts'
import { testApp } from '#lib/testing/app.ts'
import { chosenId, trace } from '#lib/testing/units.ts'

it('a database outage during writes returns 503 without partial writes, and service resumes when the database is back', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'kp-outage-'))
  chmodSync(dataDir, 0o755) // the database's account needs access
  let server = await startEmbedded(dataDir)
  const ownerUrl = server.ownerUrl('kp')
  const { appUrl } = await prepareDatabase({ ownerUrl, secret: 'of one test', mayCreateDatabase: true })
  const test = await testApp({}, { ownerUrl, appUrl, drop: async () => {} })
  try {
    const { id, token } = await test.agent()
    const acknowledged: string[] = []
    const writeUntilRefused = async (writer: number): Promise<number> => {
      for (let n = 0; ; n++) {
        const body = trace({ id: chosenId('trace', `w${writer}-${n}`) })
        const response = await test.fetch('POST', '/v1/knowledge', { token, body })
        if (response.status !== 201) return response.status
        acknowledged.push(response.json.data.id)
      }
    }
    const writing = Promise.all([0, 1, 2, 3].map(writeUntilRefused))
    await vi.waitUntil(() => acknowledged.length >= 4, 120_000)
    process.kill(server.pid, 'SIGQUIT') // immediate, like a crash
    await server.exited
    expect(await writing).toEqual([503, 503, 503, 503])
    // The cached state is returned for a moment.
    await vi.waitUntil(async () => (await test.fetch('GET', '/ready')).status === 503, 120_000)
    // Liveness does not depend on the database.
    expect((await test.fetch('GET', '/health')).status).toBe(200)
    const down = await test.fetch('GET', '/v1/auth/me', { token })
    expect([down.status, down.json.code]).toEqual([503, 'unavailable'])
    expect(Number(down.headers.get('retry-after'))).toBeGreaterThan(0)
    const ready = await test.fetch('GET', '/ready')
    expect([ready.status, ready.json.stores.postgresql.state]).toEqual([503, 'down'])
    expect((await test.fetch('GET', '/health')).status).toBe(200)
    await server.stop()
    server = await startEmbedded(dataDir)

    await vi.waitUntil(async () => (await test.fetch('GET', '/ready')).status === 200, 120_000)
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
