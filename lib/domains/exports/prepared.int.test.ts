import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { countOf } from '#lib/kernel/data-source.ts'
import type { Subject } from '#lib/kernel/erasure-scope.ts'
import { newId } from '#lib/kernel/ids.ts'
import { objectsAddress } from '#lib/stores/objects/address.ts'
import { s3Objects } from '#lib/stores/objects/s3.ts'
import { type TestApp, type TestResponse, testApp } from '#lib/testing/app.ts'
import { openArchive } from '#lib/testing/archives.ts'
import { versionedBucket } from '#lib/testing/connected-stores.ts'
import { issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'
import { isInstalled } from '#lib/testing/services/installed.ts'
import { s3Server } from '#lib/testing/services/shared.ts'
import { trace } from '#lib/testing/units.ts'

interface Place {
  names(): Promise<string[]>
  write(name: string, bytes: Buffer): Promise<void>
}
const folderPlace = (folder: string): Place => ({
  names: async () => (existsSync(folder) ? readdirSync(folder) : []),
  async write(name, bytes) {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    writeFileSync(join(folder, name), bytes)
  },
})
function bucketPlace(url: string | undefined): Place {
  const address = objectsAddress(url, '/nowhere')
  if (address.provider !== 's3') throw new Error('that is no S3')
  const store = s3Objects(address)
  return {
    names: async () => (await store.list('exports/', '', 1_000)).map((key) => key.slice('exports/'.length)),
    write: (name, bytes) =>
      store.put(
        `exports/${name}`,
        (async function* () {
          yield bytes
        })(),
        { mediaType: 'application/zip' },
      ),
  }
}

describe.each([
  { where: 'a folder', isBucket: false },
  { where: 'a bucket with versions', isBucket: true },
])('prepared exports in $where', ({ isBucket }) => {
  const isMissing = isBucket && !isInstalled('s3')
  describe.skipIf(isMissing)('when its service runs', () => {
    let test: TestApp
    let person: Person
    let place: Place
    beforeAll(async () => {
      test = isBucket
        ? await testApp({ KP_FILES_URL: (await versionedBucket((await s3Server()).endpoint)).url })
        : await testApp()
      place = isBucket ? bucketPlace(test.app.env.KP_FILES_URL) : folderPlace(folder())
    })
    afterAll(() => test.close())
    beforeEach(async () => {
      person = await signedIn(test)
    })

    const hour = 3_600_000
    const folder = () => join(test.dataDir, 'exports')
    const filesOf = async (id: string) => (await place.names()).filter((name) => name.startsWith(id))
    const begin = (who: { cookie?: string; token?: string }, body: unknown = {}): Promise<TestResponse> =>
      test.fetch('POST', '/api/privacy/exports', { ...who, body })
    const begun = async (who: Person, scope = 'all'): Promise<string> => {
      const { status, json, text } = await begin(who, { scope })
      if (status !== 202) throw new Error(text)
      return json.data.id
    }
    const look = (id: string, who: { cookie?: string; token?: string } = person): Promise<TestResponse> =>
      test.fetch('GET', `/api/privacy/exports/${id}`, who)
    const download = async (id: string, who: { cookie: string } = person) => {
      const response = await fetch(`${test.url}/api/privacy/exports/${id}/file`, { headers: { Cookie: who.cookie } })
      return { response, bytes: new Uint8Array(await response.arrayBuffer()) }
    }
    const runJob = async (name: string, payload: unknown = {}): Promise<void> => {
      const found = test.app.jobs.find((job) => job.name === name)
      if (!found) throw new Error(`there is no job ${name}`)
      await found.execute(test.app.pipeline, payload)
    }
    const prepare = (id: string) => runJob('exports.prepare', { id })
    const upkeep = () => runJob('exports.upkeep')
    const ready = async (who: Person, scope = 'all'): Promise<string> => {
      const id = await begun(who, scope)
      await prepare(id)
      return id
    }
    const contribute = async (token: string, unit: unknown): Promise<string> => {
      const { json, status, text } = await test.fetch('POST', '/v1/knowledge', { token, body: unit })
      if (status !== 201) throw new Error(text)
      return json.data.id
    }
    /** Inserts many units of a few kilobytes each directly. */
    const fill = (agentId: string, count: number, words = 60) =>
      test.db.pool.query(
        `INSERT INTO units (id, type, agent_id, organisation_id, visibility, document, domain, quality_score, created_at, updated_at)
     SELECT 'kp:trace:' || md5($1 || g), 'ReasoningTrace', a.id, a.organisation_id, 'network',
       jsonb_build_object('id', 'kp:trace:' || md5($1 || g), '@type', 'ReasoningTrace', 'text', (SELECT string_agg(md5(g::text || w), ' ') FROM generate_series(1, $3::int) w)),
       'code', 0.5, $4, $4 FROM agents a, generate_series(1, $2::int) g WHERE a.id = $1`,
        [agentId, count, words, test.clock.now()],
      )
    /** Stores a ready export with a file of this size, without preparing it. */
    async function pretended(bytes: number): Promise<string> {
      const id = newId('exp')
      const attempt = newId('att')
      await place.write(`${id}.${attempt}.zip`, Buffer.alloc(bytes))
      const now = test.clock.now()
      const expiresAt = new Date(now.getTime() + 4 * hour)
      const row = {
        id,
        accountId: person.accountId,
        basis: 'all',
        attempt,
        bytes,
        createdAt: now,
        readyAt: now,
        expiresAt,
      }
      await test.db.prisma.preparedExport.create({ data: { ...row, state: 'ready' } })
      return id
    }

    describe('the lifecycle of an export', () => {
      it('requests, prepares and downloads an export, deletes its file after four hours and its row a day later', async () => {
        await test.db.prisma.account.update({ where: { id: person.accountId }, data: { name: '=HYPERLINK("x")' } })
        const [one, two] = [
          await issuedAgent(test, ['write'], { owner: person }),
          await issuedAgent(test, ['write'], { owner: person }),
        ]
        const mine = await contribute(one.token, trace({}, { visibility: 'private' }))
        const other = await test.agent()
        const theirs = await contribute(other.token, trace({}, { visibility: 'private' }))

        const asked = await begin(person)
        expect(asked.status).toBe(202)
        expect(asked.json.data).toMatchObject({
          scope: 'all',
          state: 'queued',
          records: 0,
          bytes: null,
          expires_at: null,
        })
        const { id } = asked.json.data
        expect(asked.headers.get('location')).toBe(`/api/privacy/exports/${id}`)
        expect((await download(id)).response.status).toBe(409)

        await prepare(id)
        const { json } = await look(id)
        const { data } = json
        expect(data).toMatchObject({ state: 'ready', fault: null, downloaded_at: null, request_id: null })
        expect(data.parts_done).toBe(data.parts_total)
        expect(data.parts_total).toBe(test.app.personExporters.length + 2 * test.app.exporters.length)
        expect(Date.parse(data.expires_at) - Date.parse(data.ready_at)).toBe(4 * hour)
        if (!isBucket) {
          expect(statSync(folder()).mode & 0o777).toBe(0o700)
          for (const name of await filesOf(id)) expect(statSync(join(folder(), name)).mode & 0o777).toBe(0o600)
        }

        const { response, bytes } = await download(id)
        expect(response.status).toBe(200)
        expect(response.headers.get('content-type')).toBe('application/zip')
        expect(response.headers.get('content-disposition')).toMatch(
          /^attachment; filename="export-\d{4}-\d\d-\d\d\.zip"$/,
        )
        expect([Number(response.headers.get('content-length')), data.bytes]).toEqual([
          bytes.byteLength,
          bytes.byteLength,
        ])
        expect(createHash('sha256').update(bytes).digest('hex')).toBe(data.sha256)
        const { manifest, files } = await openArchive(bytes)
        expect(manifest).toMatchObject({ account_id: person.accountId, schema_version: 'v1', scope: 'all' })
        expect(manifest.agents).toEqual(
          [one.id, two.id].sort().map((agent_id) => ({ agent_id, folder: `agents/${agent_id}` })),
        )
        expect(JSON.parse(files['account.json'] ?? '')).toMatchObject([
          { account_id: person.accountId, role: 'person' },
        ])
        expect(files['account.csv']).toContain(`"'=HYPERLINK(""x"")"`)
        expect(JSON.parse(files['sessions.json'] ?? '')).toHaveLength(1)
        expect(JSON.parse(files['prepared_exports.json'] ?? '')).toMatchObject([{ id, state: 'running' }])
        expect(JSON.parse(files['export_runs.json'] ?? '')).toMatchObject([{ requested_by: 'itself', format: 'zip' }])
        expect(JSON.parse(files['audit_entries.json'] ?? '')).toMatchObject([{ action: 'export', resourceId: id }])
        expect(JSON.parse(files[`agents/${one.id}/knowledge_units.json`] ?? '')).toMatchObject([{ id: mine }])
        expect(JSON.parse(files[`agents/${two.id}/knowledge_units.json`] ?? '')).toEqual([])
        expect(data.records).toBe(
          Object.entries(manifest.files as Record<string, { records: number }>)
            .filter(([name]) => name.endsWith('.json'))
            .reduce((sum, [, { records }]) => sum + records, 0),
        )
        const everything = Object.values(files).join('\n')
        expect(everything).not.toContain(theirs)
        expect(everything).not.toMatch(/\$argon2|"hash"|kp_[0-9A-Za-z]{49}/)
        await vi.waitUntil(async () => (await look(id)).json.data.downloaded_at !== null, 120_000)
        const entries = await test.db.prisma.auditEntry.findMany({
          where: { resourceId: id, action: 'export' },
        })
        // The test clock has not moved, so both entries have the same time.
        const operations = entries.map(({ details }) => Object(details).operation)
        expect(operations.sort()).toEqual(['downloadExport', 'prepareExport'])

        test.clock.advance(4 * hour)
        const late = await download(id)
        expect([late.response.status, JSON.parse(Buffer.from(late.bytes).toString()).code]).toEqual([410, 'expired'])
        expect(await filesOf(id)).toHaveLength(1)
        await upkeep()
        expect(await filesOf(id)).toEqual([])
        expect((await look(id)).json.data.state).toBe('expired')
        expect((await download(id)).response.status).toBe(410)
        test.clock.advance(25 * hour)
        await upkeep()
        expect((await look(id)).status).toBe(404)
      })

      it('scope provided omits derived data', async () => {
        const id = await ready(person, 'provided')
        const { manifest, files } = await openArchive((await download(id)).bytes)
        expect(manifest.scope).toBe('provided')
        expect(Object.keys(files).filter((name) => /^(sessions|audit_entries|export_runs)\./.test(name))).toEqual([])
        expect(JSON.parse(files['account.json'] ?? '')[0]).not.toHaveProperty('role')
      })

      it('exports are listed with the daily quota, newest first and in pages', async () => {
        const first = await ready(person)
        test.clock.advance(1_000)
        const second = await ready(person)
        const { json } = await test.fetch('GET', '/api/privacy/exports?limit=1', person)
        expect(json).toMatchObject({ data: [{ id: second }], total: 2, quota: { limit: 100, used: 2 } })
        const next = await test.fetch('GET', `/api/privacy/exports?limit=1&cursor=${json.next_cursor}`, person)
        expect(next.json).toMatchObject({ data: [{ id: first }], next_cursor: null })
        expect((await test.fetch('GET', '/api/privacy/exports?cursor=nonsense', person)).status).toBe(422)
      })
    })

    describe('ownership of an export', () => {
      it("another person's and an unknown export return 404, also for admins; agents get 403, and requests without sign-in 401", async () => {
        const id = await ready(person)
        const agent = await issuedAgent(test, ['read', 'write', 'admin'], { owner: person })
        const guesses = [id, newId('exp')]
        for (const who of [
          await signedIn(test),
          await signedIn(test, 'admin'),
          await signedIn(test, 'person', person.organisationId),
        ])
          for (const guess of guesses) {
            if (guess !== id) expect((await look(guess, person)).status).toBe(404)
            for (const [method, path] of [
              ['GET', ''],
              ['GET', '/file'],
              ['DELETE', ''],
            ] as const)
              expect([
                method,
                path,
                (await test.fetch(method, `/api/privacy/exports/${guess}${path}`, who)).status,
              ]).toEqual([method, path, 404])
          }
        expect((await look(id, { token: agent.token })).json.code).toBe('forbidden')
        expect((await begin({ token: agent.token })).json.code).toBe('forbidden')
        expect((await test.fetch('GET', `/api/privacy/exports/${id}/file`)).status).toBe(401)
        for (const odd of ['exp_', '..%2f..%2fetc%2fpasswd', `${id}x`, 'exp_'.padEnd(26, '%')])
          expect((await test.fetch('GET', `/api/privacy/exports/${odd}/file`, person)).status).not.toBe(200)
        expect((await download(id)).response.status).toBe(200)
      })

      it('its owner deletes it with its file, and a second deletion returns 404', async () => {
        const id = await ready(person)
        expect((await test.fetch('DELETE', `/api/privacy/exports/${id}`, person)).status).toBe(204)
        expect([await filesOf(id), (await look(id)).status]).toEqual([[], 404])
        expect((await test.fetch('DELETE', `/api/privacy/exports/${id}`, person)).status).toBe(404)
      })

      it('a restricted person can still export (GDPR art. 18)', async () => {
        const now = test.clock.now()
        await test.db.prisma.account.update({
          where: { id: person.accountId },
          data: { restrictedAt: now, restrictedFor: ['request'] },
        })
        const id = await ready(person)
        expect((await download(id)).response.status).toBe(200)
      })

      it('a person who is being erased gets no export, and an agent that is being erased is omitted', async () => {
        const agent = await issuedAgent(test, ['write'], { owner: person })
        const queued = await begun(person)
        await test.db.prisma.writeFence.create({
          data: { kind: 'agent', id: agent.id, runId: 'run_x', raisedAt: test.clock.now() },
        })
        await prepare(queued)
        expect((await openArchive((await download(queued)).bytes)).manifest.agents).toEqual([])
        const late = await begun(person, 'provided')
        await test.db.prisma.writeFence.create({
          data: { kind: 'account', id: person.accountId, runId: 'run_x', raisedAt: test.clock.now() },
        })
        expect((await begin(person)).json.code).toBe('fenced')
        await prepare(late)
        expect((await look(late)).json.data.state).toBe('queued')
        expect(await filesOf(late)).toEqual([])
      })
    })

    describe('the daily quota', () => {
      it('is used once by concurrent calls with the same scope, which share one export; different scopes create separate exports', async () => {
        const answers = await Promise.all(
          Array.from({ length: 6 }, (_, n) => begin(person, { scope: n % 2 ? 'all' : 'provided' })),
        )
        expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(202))
        expect(new Set(answers.map(({ json }) => json.data.id)).size).toBe(2)
        expect(await test.db.prisma.exportRun.count({ where: { subjectId: person.accountId } })).toBe(2)
      })

      it('is exact for concurrent calls, is not refunded by a deletion, and resets at midnight UTC', async () => {
        await test.db.prisma.exportRun.createMany({
          data: Array.from({ length: 99 }, () => ({
            id: newId('exp'),
            subjectId: person.accountId,
            subjectKind: 'account',
            requestedBy: `user:${person.accountId}`,
            format: 'zip',
            basis: 'all',
            at: test.clock.now(),
          })),
        })
        const answers = await Promise.all([begin(person, { scope: 'all' }), begin(person, { scope: 'provided' })])
        expect(answers.map(({ status }) => status).sort()).toEqual([202, 429])
        const taken = answers.find(({ status }) => status === 202)?.json.data.id
        const refused = answers.find(({ status }) => status === 429)
        expect(refused?.json).toMatchObject({ code: 'quota_exceeded', limit: 100, used: 100 })
        expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0)
        await test.fetch('DELETE', `/api/privacy/exports/${taken}`, person)
        expect((await begin(person)).status).toBe(429)
        expect((await test.fetch('GET', '/api/privacy/exports', person)).json.quota).toMatchObject({
          limit: 100,
          used: 100,
        })
        test.clock.advance(24 * hour)
        expect((await begin(person)).status).toBe(202)
      })

      it("an export for a privacy request counts against the person's quota and is prepared once", async () => {
        const order = {
          accountId: person.accountId,
          requestId: newId('preq'),
          basis: 'all' as const,
          now: test.clock.now(),
        }
        const ask = () => test.db.transaction((tx) => test.app.exports.prepare(tx, order))
        const id = await ask()
        expect(await ask()).toBe(id)
        await prepare(id)
        expect((await test.fetch('GET', '/api/privacy/exports', person)).json).toMatchObject({
          data: [{ id, request_id: order.requestId }],
          quota: { used: 1 },
        })
        expect((await download(id)).response.status).toBe(200)
      })
    })

    describe('failures of an export', () => {
      it('a download is aborted when the export is deleted, and the file is deleted', async () => {
        const id = await pretended(256 * 2 ** 20)
        const response = await fetch(`${test.url}/api/privacy/exports/${id}/file`, {
          headers: { Cookie: person.cookie },
        })
        const reader = response.body?.getReader()
        expect((await reader?.read())?.done).toBe(false)
        expect((await test.fetch('DELETE', `/api/privacy/exports/${id}`, person)).status).toBe(204)
        expect(await filesOf(id)).toEqual([])
        await expect(
          (async () => {
            // Reads as slowly as a network, because the server checks the export only once a second.
            while (!(await reader?.read())?.done) await delay(1)
          })(),
        ).rejects.toThrow()
      })

      it('a preparation ends without a file when the export is deleted', async () => {
        const agent = await issuedAgent(test, ['write'], { owner: person, tier: 'enterprise' })
        await fill(agent.id, 6_000)
        const id = await begun(person)
        const preparing = prepare(id)
        await vi.waitUntil(async () => (await filesOf(id)).length > 0, { timeout: 120_000, interval: 5 })
        expect((await test.fetch('DELETE', `/api/privacy/exports/${id}`, person)).status).toBe(204)
        await preparing
        expect(await filesOf(id)).toEqual([])
      })

      it('a preparation fails and stays queued when the folder is not writable', async () => {
        const before = await testApp()
        const someone = await signedIn(before)
        const { json } = await before.fetch('POST', '/api/privacy/exports', { ...someone, body: {} })
        writeFileSync(join(before.dataDir, 'exports'), 'a file where the folder should be')
        const job = before.app.jobs.find(({ name }) => name === 'exports.prepare')
        await expect(job?.execute(before.app.pipeline, { id: json.data.id })).rejects.toThrow()
        const response = await before.fetch('GET', `/api/privacy/exports/${json.data.id}`, someone)
        expect(response.json.data).toMatchObject({ state: 'queued', fault: 'unavailable' })
        // After the last attempt, the queue has no job. The export fails with the error of that attempt.
        await before.db.pool.query('SELECT graphile_worker.remove_job($1)', [`exports.prepare:${json.data.id}`])
        rmSync(join(before.dataDir, 'exports'))
        before.clock.advance(3 * 60_000)
        await before.app.jobs.find(({ name }) => name === 'exports.upkeep')?.execute(before.app.pipeline, {})
        const failed = await before.fetch('GET', `/api/privacy/exports/${json.data.id}`, someone)
        expect(failed.json.data).toMatchObject({ state: 'failed', fault: 'unavailable' })
        await before.close()
      })

      it('the later of two concurrent attempts wins, and one complete file remains', async () => {
        const agent = await issuedAgent(test, ['write'], { owner: person, tier: 'enterprise' })
        await fill(agent.id, 3_000)
        const id = await begun(person)
        await Promise.all([prepare(id), prepare(id)])
        expect(await filesOf(id)).toHaveLength(1)
        const { bytes } = await download(id)
        expect(createHash('sha256').update(bytes).digest('hex')).toBe((await look(id)).json.data.sha256)
        await prepare(id)
        expect(await filesOf(id)).toHaveLength(1)
      })

      it('an export whose job is missing fails with the code internal', async () => {
        const id = await begun(person)
        await test.db.pool.query('SELECT graphile_worker.remove_job($1)', [`exports.prepare:${id}`])
        test.clock.advance(3 * 60_000)
        await upkeep()
        expect((await look(id)).json.data).toMatchObject({ state: 'failed', fault: 'internal' })
        expect((await download(id)).response.status).toBe(410)
      })

      it('upkeep deletes files without an export and keeps other files', async () => {
        const id = await ready(person)
        const odd = [`${newId('exp')}.${newId('att')}.zip`, `${id}.${newId('att')}.part`, 'notes.txt']
        for (const name of odd) await place.write(name, Buffer.from('x'))
        await upkeep()
        expect((await place.names()).filter((name) => odd.includes(name))).toEqual(['notes.txt'])
        expect(await filesOf(id)).toHaveLength(1)
      })
    })

    describe('erasing exported data', () => {
      it('deletes a finished export that contains an erased unit, and reports the reason', async () => {
        const agent = await issuedAgent(test, ['write'], { owner: person })
        const unit = await contribute(agent.token, trace())
        const id = await ready(person)
        expect((await test.fetch('DELETE', `/v1/knowledge/${unit}`, { token: agent.token })).status).toBe(204)
        expect(await filesOf(id)).toEqual([])
        expect((await look(id)).json.data).toMatchObject({ state: 'expired', fault: 'erased' })
        const deleted = await download(id)
        expect([deleted.response.status, Buffer.from(deleted.bytes).toString()]).toEqual([
          410,
          expect.stringContaining('erased'),
        ])
        const again = await ready(person)
        expect(Object.values((await openArchive((await download(again)).bytes)).files).join()).not.toContain(
          `"id":"${unit}"`,
        )
      })

      it('restarts an export in preparation, which then omits the erased unit', async () => {
        const agent = await issuedAgent(test, ['write'], { owner: person })
        const unit = await contribute(agent.token, trace())
        const id = await begun(person)
        const attempt = newId('att')
        await place.write(`${id}.${attempt}.part`, Buffer.from('half of it'))
        await test.db.prisma.preparedExport.update({
          where: { id },
          data: { state: 'running', attempt, agents: [agent.id] },
        })
        expect((await test.fetch('DELETE', `/v1/knowledge/${unit}`, { token: agent.token })).status).toBe(204)
        expect(await filesOf(id)).toEqual([])
        expect((await look(id)).json.data.state).toBe('queued')
        await prepare(id)
        const { files } = await openArchive((await download(id)).bytes)
        expect(JSON.parse(files[`agents/${agent.id}/knowledge_units.json`] ?? '')).toEqual([])
      })

      it('erasing an account deletes its exports with file and row, keeps those of others, and is idempotent', async () => {
        const other = await signedIn(test)
        const [mine, theirs] = [await ready(person), await ready(other)]
        const scope = { subject: { account: person.accountId, agents: [] } }
        for (const name of ['exports.files', 'exports.runs']) {
          const dataSource = test.app.dataSources.find((one) => one.name === name)
          if (!dataSource) throw new Error(`no holder ${name}`)
          const now = test.clock.now()
          const { items } = await test.db.transaction((tx) => dataSource.plan(scope, tx, now))
          expect(items).toHaveLength(1)
          expect(await dataSource.residue(scope, items, now)).toBeGreaterThan(0)
          expect((await dataSource.inventory(scope.subject, now)).count).toBe(1)
          expect(countOf(await test.db.transaction((tx) => dataSource.erase(scope, items, tx)))).toBe(1)
          expect(await dataSource.residue(scope, items, now)).toBe(0)
          expect(countOf(await test.db.transaction((tx) => dataSource.erase(scope, items, tx)))).toBe(0)
        }
        expect([await filesOf(mine), (await filesOf(theirs)).length]).toEqual([[], 1])
        expect((await download(theirs, other)).response.status).toBe(200)
      })

      it("keeps export runs of an account when an agent has the account's id", async () => {
        const note = (subjectKind: 'account' | 'agent') =>
          test.db.prisma.exportRun.create({
            data: {
              id: newId('exp'),
              subjectId: person.accountId,
              subjectKind,
              requestedBy: 'system:privacy.request',
              format: 'zip',
              basis: 'all',
              at: test.clock.now(),
            },
          })
        const mine = await note('account')
        const theirs = await note('agent')
        const dataSource = test.app.dataSources.find(({ name }) => name === 'exports.runs')
        const now = test.clock.now()
        // An agent of an old version whose id equals the account's.
        const called: Subject = { account: null, agents: [person.accountId] }
        const own: Subject = { account: person.accountId, agents: [] }
        const plan = (subject: Subject) =>
          test.db.transaction(async (tx) => (await dataSource?.plan({ subject }, tx, now))?.items)
        expect([await plan(called), await plan(own)]).toEqual([[theirs.id], [mine.id]])
        expect((await dataSource?.inventory(called, now))?.count).toBe(1)
        // Even with both ids in the plan, only the subject's records are erased.
        const both = [mine.id, theirs.id]
        expect(await test.db.transaction(async (tx) => dataSource?.erase({ subject: called }, both, tx))).toMatchObject(
          {
            count: 1,
            results: {},
          },
        )
        expect(await test.db.prisma.exportRun.findMany({ where: { id: { in: both } } })).toMatchObject([
          { id: mine.id },
        ])
        expect([
          await dataSource?.residue({ subject: called }, both, now),
          await dataSource?.residue({ subject: own }, both, now),
        ]).toEqual([0, 1])
      })

      it('replaces an erased requester in the export runs of others', async () => {
        const agent = await test.agent()
        await test.db.prisma.exportRun.create({
          data: {
            id: newId('exp'),
            subjectId: agent.id,
            requestedBy: `user:${person.accountId}`,
            format: 'json',
            basis: 'all',
            at: test.clock.now(),
          },
        })
        const dataSource = test.app.dataSources.find(({ name }) => name === 'exports.runs')
        const scope = { subject: { account: person.accountId, agents: [] } }
        const now = test.clock.now()
        const planned = await test.db.transaction(async (tx) => dataSource?.plan(scope, tx, now))
        const erased = await test.db.transaction(async (tx) => dataSource?.erase(scope, planned?.items ?? [], tx))
        expect(erased).toMatchObject({ count: 1, results: { pseudonymized: 1 } })
        expect(await dataSource?.residue(scope, planned?.items ?? [], now)).toBe(0)
        expect(await test.db.prisma.exportRun.findMany({ where: { subjectId: agent.id } })).toMatchObject([
          { requestedBy: 'system:erased' },
        ])
      })
    })
  })
})
